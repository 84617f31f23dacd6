// Package layers holds the law of the house: which package may import which, which outside
// module each may import, and imports that are never allowed. The law is the table in
// layers_test.go; the test reads every source file and compares. Run it with -v to see the
// house as a map.
package layers
