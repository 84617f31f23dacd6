// Package builtin holds the rules about texts and programs that rye brings along, as data.
package builtin

import _ "embed"

// Rules is the text of rules.yaml, in the form of docs/format/audit.md.
//
//go:embed rules.yaml
var Rules []byte
