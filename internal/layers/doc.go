// Package layers holds the law of the house and nothing else: which package may
// import which, which outside module each may open the door to, and what must
// never happen at all. The law is the table in layers_test.go; the test reads
// every source file and compares. Run it with -v to see the house as a map.
package layers
