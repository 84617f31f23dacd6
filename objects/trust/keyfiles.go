package trust

import "github.com/rye-os/rye/objects"

// KeyFiles lets a store say of a key that it does not know that the user has it: find
// returns the path of the file that holds a key, "" for none. It is asked only when an item
// names a key that is not known, and must be safe for concurrent use. What it finds makes
// nothing believed.
func (s *Store) KeyFiles(find func(objects.Fingerprint) (path string)) { s.keyFile = find }

func (s *Store) keyFileOf(fp objects.Fingerprint) string {
	if s.keyFile == nil {
		return ""
	}
	return s.keyFile(fp)
}
