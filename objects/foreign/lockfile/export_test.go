package lockfile

// Collate is the order of computedHash.
var Collate = collate
