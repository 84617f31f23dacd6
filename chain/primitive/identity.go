package primitive

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye/fault"
)

// maxStartupFiles and maxStartupBytes bound the files of an environment that Identity reads
// besides the program: their number, and the bytes of each.
const (
	maxStartupFiles = 1000
	maxStartupBytes = 1 << 20
)

// Identity returns the parts of an interpreter by name. One is the real path of the program with
// its SHA-256. In a virtual environment the others are pyvenv.cfg and the files that Python runs
// at every start (*.pth, sitecustomize.py, usercustomize.py). A consent to an interpreter covers
// these. It does not cover the packages that the program loads later, in site-packages and
// node_modules.
func (p Program) Identity() (map[string][]byte, error) {
	target, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		return nil, fault.New(fault.Failed, "look at interpreter %s: %w", p.Path, err)
	}
	sum, err := sumFile(target)
	if err != nil {
		return nil, fault.New(fault.Failed, "look at interpreter %s: %w", p.Path, err)
	}
	parts := map[string][]byte{"program": []byte(target + "\n" + sum)}
	venv := filepath.Dir(filepath.Dir(p.Path))
	cfg, err := readSmall(filepath.Join(venv, "pyvenv.cfg"))
	if err != nil || cfg == nil {
		return parts, err
	}
	parts["pyvenv.cfg"] = cfg
	var startup []string
	for _, dir := range []string{"lib/python*/site-packages", "lib64/python*/site-packages", "Lib/site-packages"} {
		for _, name := range []string{"*.pth", "sitecustomize.py", "usercustomize.py"} {
			found, _ := filepath.Glob(filepath.Join(globSafe(venv), filepath.FromSlash(dir), name))
			startup = append(startup, found...)
		}
	}
	if len(startup) > maxStartupFiles {
		return nil, fault.New(fault.Limit, "interpreter %s: more than %d files run at its start", p.Path, maxStartupFiles)
	}
	for _, path := range startup {
		text, err := readSmall(path)
		if err != nil {
			return nil, err
		}
		rel, _ := filepath.Rel(venv, path)
		parts[filepath.ToSlash(rel)] = text
	}
	return parts, nil
}

// globSafe escapes the characters that Glob would read as a pattern.
func globSafe(path string) string {
	if os.PathSeparator == '\\' {
		return path // there a backslash is a separator, and no escape exists
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// maxProgram is the largest interpreter in a project, in bytes: node has 120 MB.
const maxProgram = 1 << 30

// readSmall returns nil for a file that does not exist.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil
	}
	if !info.Mode().IsRegular() || info.Size() > maxStartupBytes {
		return nil, fault.New(fault.Limit, "interpreter file %s: want a file of at most %d bytes", path, maxStartupBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.Failed, "look at an interpreter: %w", err)
	}
	return text, nil
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	if info.Size() > maxProgram {
		return "", fault.New(fault.Limit, "program %s: larger than %d bytes", path, maxProgram)
	}
	h := sha256.New()
	_, err = io.Copy(h, io.LimitReader(f, maxProgram))
	return hex.EncodeToString(h.Sum(nil)), err
}
