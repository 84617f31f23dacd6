package trust

import "github.com/rye-os/rye/objects"

// KeyFiles sets how a store finds the file of an unknown key, so that it can report that the
// user has the key. find returns the path of the file that holds a key, or "". The store calls
// it only when an item names an unknown key; it must be safe for concurrent use. A file that
// it finds does not make the key trusted.
func (s *Store) KeyFiles(find func(objects.Fingerprint) (path string)) { s.keyFile = find }

func (s *Store) keyFileOf(fp objects.Fingerprint) string {
	if s.keyFile == nil {
		return ""
	}
	return s.keyFile(fp)
}
