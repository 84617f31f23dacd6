package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/internal/place"
)

// Files right in .ai are read and written below that opened directory. Links in their place, or
// in place of .ai, are never followed: a clone or a branch can bring them.

// ReadAI returns the bytes of a file right in the project's .ai: at most limit of them
// (fault.Limit), from a regular file (fault.Malformed). A missing file is fs.ErrNotExist.
func ReadAI(h *Host, name string, limit int64) ([]byte, error) {
	return readAI(h.ProjectDir, name, limit)
}

// WriteAI replaces a file right in the project's .ai, durably and as a whole.
func WriteAI(h *Host, name string, data []byte) error { return writeAI(h.ProjectDir, name, data) }

func readAI(dir, name string, limit int64) ([]byte, error) {
	ai, err := openAI(dir)
	if err != nil {
		return nil, err
	}
	defer ai.Close()
	return ai.Read(name, limit)
}

func openAI(dir string) (place.Folder, error) { return place.OpenFolder(filepath.Join(dir, ".ai")) }

func writeAI(dir, name string, data []byte) error {
	root, err := makeAI(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return place.FileIn(root, name, data, 0o644)
}

// MakeAI makes the .ai of a directory where there is none. Anything else in its place is
// fault.Malformed.
func MakeAI(dir string) error {
	root, err := makeAI(dir)
	if err != nil {
		return err
	}
	return root.Close()
}

func makeAI(dir string) (*os.Root, error) {
	ai := filepath.Join(dir, ".ai")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(ai, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return place.Tree(ai)
}
