package trust

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"sort"
	"sync"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// loggedDir is the directory beside the trust store for the lists of retired registry keys:
// the contents by these keys in the registries' verified logs.
const loggedDir = "logged"

// KeepLogged writes a list for a retired key of a registry beside the trust store at path,
// durably. sums are the files by the key in the registry's verified log. It returns the list's
// digest for BoundKey.Logged; zero for an empty list.
func KeepLogged(path string, sums []objects.Digest) (objects.Digest, error) {
	if len(sums) == 0 {
		return objects.Digest{}, nil
	}
	text := encodeKept(sums)
	if len(text) > keptMax {
		return objects.Digest{}, fault.New(fault.Limit, "a retired key published more than %d files", keptMax/keptLine)
	}
	d := objects.DigestOf(text)
	file := loggedPath(path, d)
	if there, err := place.Read(file, keptMax); err == nil && bytes.Equal(there, text) {
		return d, nil
	}
	return d, place.File(file, text, 0o600)
}

// loggedPath names a list by its digest, so that a new list never overwrites the one in use.
func loggedPath(store string, list objects.Digest) string {
	return filepath.Join(filepath.Dir(store), loggedDir, list.Hex())
}

// keptLists caches lists by their digests. It is safe for concurrent use.
type keptLists struct {
	mu   sync.Mutex
	read map[objects.Digest]keptList
}

// keptList is the text of a list, or the error of reading it.
type keptList struct {
	text []byte
	err  error
}

// hold looks a file up in the list at path, which must have the digest list. A missing list,
// or one with another digest, is an error. store is "" for a store without a file, which has
// no lists.
func (l *keptLists) hold(store, path string, list, sum objects.Digest) (bool, error) {
	if sum.IsZero() || list.IsZero() {
		return false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.read[list]
	if !ok {
		k.text, k.err = readKept(store, path, list)
		if l.read == nil {
			l.read = make(map[objects.Digest]keptList)
		}
		l.read[list] = k
	}
	if k.err != nil {
		return false, k.err
	}
	want := []byte(sum.String())
	_, found := sort.Find(len(k.text)/keptLine, func(i int) int {
		return bytes.Compare(want, k.text[i*keptLine:(i+1)*keptLine-1])
	})
	return found, nil
}

func readKept(store, path string, list objects.Digest) ([]byte, error) {
	if store == "" {
		return nil, fault.New(fault.NotFound, "and the list of the files that it signed is not here")
	}
	if err := place.Trusted(path); err != nil {
		return nil, fault.Wrap(err, "and the list of the files that it signed is not accepted")
	}
	text, err := place.Read(path, keptMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "and the list of the files that it signed is gone")
	}
	if err != nil {
		return nil, fault.New(fault.Failed, "and the list of the files that it signed cannot be read: %w", err)
	}
	if objects.DigestOf(text) != list {
		return nil, fault.New(fault.Integrity, "and the list of the files that it signed was changed")
	}
	return text, parseKept(text)
}
