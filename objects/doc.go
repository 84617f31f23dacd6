// Package objects reads the text form of items and names their kinds, ids, versions and
// states. It decides nothing and touches nothing outside its arguments.
//
// An item is a file with one signature line, here of a shell tool (wrapped; it is
// one line of 230 bytes behind "# "):
//
//	#!/bin/sh
//	# rye:signed:v2:2026-01-31T12:00:00Z:<64 hex digits, SHA-256 of the body>:
//	    <86 of base64url, Ed25519>:<43 of base64url, SHA-256 of the key>
//	# version: 1.0.0
//	# executor_id: rye/core/runtimes/bash_runtime
//	# description: Greets.
//	echo hello
//
// The body is every byte but that line. Split takes the two apart, WithSignature puts them
// together, SignedMessage says what the key signs, Parse reads the item's fields, and
// Validate lists the mistakes in them. The formats are normative in docs/format:
// signature.md, item.md, bundle.md.
//
// # Reasons
//
// A directive's inputs have types that are checked, and signing refuses a type that rye
// does not know. A model that gets "three" in place of a number goes on with it, and no
// one notices. `-p n=3` stays text, as for tools: guessing would make the version "1.10" a
// number.
//
// A body has exactly one place for the signature line. With two places, two readers could
// pick different lines. So anything that looks like a second line makes the file
// malformed, also in a code fence, a string or the comment of another language.
// Documentation about signatures puts a word before its examples; that is the price.
//
// The body is never normalised, or the bytes that are checked would differ from the bytes
// that run. A body whose signature line stands below its last line must end with a line
// feed: if rye added it, two files would have one body.
//
// The comment syntax of each file type is a table in code, because it decides which line
// is the signature. No item and no project may extend it. Types that are missing use a
// bundle.
//
// Python is scanned, never imported. A grammar of Python in Go would be ten thousand lines
// that age, and assignments at the beginning of a line need only strings, comments and
// brackets. Of 31,000 files from ten Python releases the scanner refuses those that are
// not UTF-8, and all 963 values agree with Python's ast. Of names in capitals only dicts
// count, because helper modules use CONFIG and ANCHOR for themselves.
//
// XML has a reader of its own. encoding/xml cannot take text as it is up to a closing tag,
// which RYE OS's <template>, <example> and <raw> need, accepts directives and namespaces,
// and is several times slower.
//
// YAML is read by yaml.v3 everywhere. A second reader would have to agree with it to the
// byte, and a faster one saved at most a seventh of checking 10,000 items. Into a struct
// YAML is parsed twice: yaml.v3 has no strict mode for nodes, and its decoder does not
// show anchors, tags or a second document. Its panics are caught, since its input is
// hostile.
//
// Text fields come from the YAML node and not from its value: `version: 1.10` would print
// as 1.1. Dates stay text too.
//
// A manifest is YAML, but rye accepts only the bytes that rye writes. So all readers
// agree, parse and encode are inverse, and reading takes a twelfth of strict YAML
// (BenchmarkParseManifest). A manifest holds nothing that a member states: a second copy
// could only differ. `deps` are there because the fields of SKILL.md are not ours, and
// because they settle ranges of members that rye cannot join.
//
// A field of the wrong form is malformed, and a broken rule is a problem. `needs:
// everything` has no meaning: if it were read, the tool would run with the default. A
// missing description is read, shown, and refused when the item is signed.
//
// Ranges are npm's, because people know them. A pre-release counts only when it is named.
// The grammar of capabilities is here and its meaning in chain/policy, so that the author
// of a directive learns of a slip while signing, not from a thread that is refused a year
// later.
package objects
