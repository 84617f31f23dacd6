// Package oplog says what the operations of a registry's logs mean: who may do what, the
// states, lists and versions that follow, and what is dropped or skipped; pure.
//
// Parse and ParseRoot read operations; Apply, ApplyAll and Root.Apply apply them. They decide
// by position in the logs, never by a clock or a place. A Pen writes what a reader would take.
// Whatever reads objects is given a Reader or a Source, and checks what they return.
//
// docs/format/registry.md describes every byte.
package oplog
