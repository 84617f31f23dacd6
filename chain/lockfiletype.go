package chain

import "reflect"

// LockFileType returns the Go type of rye.lock, for the description of its form. A field of the file is named as
// the field of the type, in small letters.
func LockFileType() reflect.Type { return reflect.TypeFor[lockFile]() }
