// Package chain works out exactly what would run. A tool names its executor, that one
// another, until a primitive; the Plan of such a chain says which verified bytes are
// needed, which parameters are accepted, and which one call the primitive gets. Planning
// reads nothing but its arguments: others find the items before and run them after.
//
// The package also keeps the lock (docs/format/lock.md): the parts of a plan at the time
// when a person agreed to it. docs/format/runtime.md says what the items of a chain may
// declare.
//
// # Reasons
//
// A plan is a pure function of verified links and values, so it can be shown, locked and
// tested without running it. The dry run is the plan.
//
// The runtime decides about the program. RYE OS merged `command` like any other key, so a
// tool could replace the interpreter of its signed runtime and every limit in its
// arguments. Here the item nearest to the primitive decides, and a `command` above it is a
// text for that program. bash_runtime keeps its two shapes apart with command_args.
//
// Templates are filled in once, and values never. RYE OS expanded three times and
// parameters too: ${ANTHROPIC_API_KEY} sent by a model came back as the key. A shell text
// is no template: filling in braces is injection, and breaks ${x} and {1..3}. Scripts read
// $RYE_PARAM_NAME.
//
// A parameter that begins with - is refused where it stands alone: quoting does not help
// against --output=/etc/x in the place of a file name. The tool writes -- or
// --file={file}, and the error says so.
//
// Parameters are validated as JSON numbers and handed on as they were written: a float64
// would change a long order number.
//
// ParseLock refuses bytes that Encode would not write, so no two readers see different
// locks in one file. A lock holds no times and no machine paths, so git merges locks of
// two people. Files around a tool are pinned as one digest in the form of sha256sum: one
// line for a folder of forty modules, checked by hand if need be.
package chain
