package trust

import "io/fs"

// The modes that Go reports on Windows do not show which users may read or write a
// file. The access list of the user's profile directory protects keys and trust.

func checkPrivate(string, fs.FileInfo) error { return nil }

func checkKeyDir(string) error { return nil }

func checkUnwritable(string, fs.FileMode) error { return nil }
