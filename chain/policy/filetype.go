package policy

import "reflect"

// FileType returns the Go type of policy.yaml, for the description of its form.
func FileType() reflect.Type { return reflect.TypeFor[file]() }
