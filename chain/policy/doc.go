// Package policy decides whether a caller may do a thing. It judges by the caller's
// capabilities, by how dangerous the thing is (tiers and rules), and by the findings of
// package command in the lines that would run. It decides and never acts, reads nothing
// but its arguments, and the same arguments always give the same answer.
//
// # Reasons
//
// The grammar of capabilities is small, so containment is exact. With * alone, one pattern
// includes another exactly when it matches it, the other's stars being a letter that only
// a star matches. With ? and [...] that is a problem of automata, and RYE OS did not
// intersect at all. A property test compares with brute force.
//
// A child that asks for too much is refused, not trimmed: trimming hides a mistake or an
// attack until an act fails in the middle. Narrow, which trims, serves policies, where the
// wider side is a default and no request.
//
// Only the user's file can make a decision milder. Tighten takes minima, and a property
// test runs random pairs of files and requests. An approval binds the digest of the file
// and covers dangerous text in that file, never in a parameter.
//
// deny_above is read as in Ryvos, where `deny_above = "T4"` could never fire. rye writes
// deny_from.
package policy
