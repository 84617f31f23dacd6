// Package build says which build a program belongs to, so that installed programs refuse
// to work with a different one. Each of them links it, and so it is small.
//
// # Reasons
//
// make gives all programs a digest of the sources. `go install …@version` gives no flags,
// but Go records the module's version and sum, and the sum covers every file. A clean
// checkout records its commit. With local changes the directory of the checkout is the
// best that is known, as a digest because ids are printed: programs of one checkout accept
// each other although one may be older. With -trimpath the id is +local alone, since a
// refusal would leave only users of make with a working program. The id guards against
// mistakes, not against a person who can replace the programs.
package build
