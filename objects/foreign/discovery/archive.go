package discovery

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/unpack"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/foreign"
)

// Unpack returns the files of an artifact, whose digest was compared. Errors are Malformed and
// Limit.
func Unpack(kind string, raw []byte) ([]foreign.File, error) {
	if kind == TypeSkill {
		if len(raw) > objects.MaxItemSize {
			return nil, fault.New(fault.Limit, "its SKILL.md has %d bytes, at most %d are read", len(raw), objects.MaxItemSize)
		}
		return []foreign.File{{Path: objects.SkillFile, Data: raw}}, nil
	}
	all, err := unpack.ReadWithin(raw, unpack.Limits{Archive: MaxArtifact, Total: MaxUnpacked, Entries: 2 * MaxFiles})
	if err != nil {
		return nil, err
	}
	files := make([]foreign.File, 0, len(all))
	for _, f := range all {
		if f.Link != "" {
			return nil, fault.New(fault.Malformed, "archive: %q is a link; an archive of a skill holds files and folders only", words.Brief(f.Path))
		}
		files = append(files, foreign.File{Path: f.Path, Data: f.Data, Executable: f.Executable})
	}
	return files, Check(files)
}

// Check refuses files that are no skill within the limits: too many, too large, without SKILL.md at
// the top, or with two paths that differ only in case.
func Check(files []foreign.File) error {
	if len(files) > MaxFiles {
		return fault.New(fault.Limit, "%d files, at most %d are read of one skill", len(files), MaxFiles)
	}
	total, skill := 0, false
	folded := map[string]string{}
	for _, f := range files {
		if total += len(f.Data); total > MaxUnpacked {
			return fault.New(fault.Limit, "its files have more than %d bytes", MaxUnpacked)
		}
		skill = skill || f.Path == objects.SkillFile
		for p := f.Path; p != ""; p = p[:max(0, strings.LastIndexByte(p, '/'))] {
			key := strings.ToLower(p)
			if other, there := folded[key]; there && other != p {
				return fault.New(fault.Malformed, "%q and %q are the same name on some systems", words.Brief(other), words.Brief(p))
			}
			folded[key] = p
		}
	}
	if !skill {
		return fault.New(fault.Malformed, "it has no SKILL.md at its top")
	}
	return nil
}

// Pack writes files as a .tar.gz: regular files only, sorted by path, without times and owners, so
// equal files give equal bytes.
func Pack(files []foreign.File) ([]byte, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b foreign.File) int { return strings.Compare(a.Path, b.Path) })
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.Path, Typeflag: tar.TypeReg, Size: int64(len(f.Data)), Mode: 0o644, ModTime: time.Unix(0, 0), Format: formatFor(f.Path)}
		if f.Executable {
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return nil, fault.Wrap(err, "pack %q", words.Brief(f.Path))
		}
		if _, err := io.Copy(t, bytes.NewReader(f.Data)); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// formatFor chooses the plainest form that holds a path. Some readers skip the extended headers of
// PAX, and read a wrong path then.
func formatFor(p string) tar.Format {
	if strings.ContainsFunc(p, func(r rune) bool { return r >= 0x80 }) {
		if len(p) <= 100 {
			return tar.FormatGNU
		}
		return tar.FormatPAX
	}
	if len(p) <= 100 {
		return tar.FormatUSTAR
	}
	return tar.FormatUnknown // USTAR where it can be split, else PAX
}
