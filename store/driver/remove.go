package driver

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/store"
)

// Removal returns the changes that take rye's merge driver away again: first the lines of
// info/attributes, then the section of the configuration, so that an interrupted removal leaves no
// attribute without a driver. Only text that Write wrote goes, for whatever program, and only in
// whole lines. remains names what stays because somebody else wrote it; "" for nothing.
func (s State) Removal() (list []Change, remains string, err error) {
	info := filepath.Join(s.Repository.Common, "info")
	text, err := s.read(info, attributesFile)
	if err != nil {
		return nil, "", err
	}
	now, others := withoutLines(text)
	if now != text {
		list = append(list, Change{filepath.Join(info, attributesFile), text, now})
	}
	if others {
		return list, "info/attributes has lines with merge=rye that rye did not write, so the section of the configuration stays", nil
	}
	config, err := s.read(s.Repository.Common, configFile)
	if err != nil {
		return nil, "", err
	}
	now = withoutSection(config)
	if now != config {
		list = append(list, Change{filepath.Join(s.Repository.Common, configFile), config, now})
	}
	c, err := store.ParseRepoConfig(now)
	if err != nil {
		return nil, "", err
	}
	if c.MergeDriver != "" {
		remains = "the configuration has a merge driver rye that rye did not write"
	}
	return list, remains, nil
}

// withoutLines returns a text of attributes without the lines that rye wrote. others reports
// whether another line still names the driver.
func withoutLines(text string) (now string, others bool) {
	var out strings.Builder
	for l := range strings.Lines(text) {
		if slices.Contains(attributes, strings.TrimSuffix(l, "\n")) {
			continue
		}
		if fields := strings.Fields(l); len(fields) > 1 && !strings.HasPrefix(fields[0], "#") && slices.Contains(fields[1:], "merge=rye") {
			others = true
		}
		out.WriteString(l)
	}
	return out.String(), others
}

// withoutSection returns a configuration without the sections that withSection wrote. A section
// with a further key, or with another value, is somebody else's. Comments and empty lines stay.
func withoutSection(config string) string {
	lines := slices.Collect(strings.Lines(config))
	var out strings.Builder
	for i := 0; i < len(lines); i++ {
		if n := ownSection(lines[i:]); n > 0 && (i == 0 || !strings.HasSuffix(strings.TrimRight(lines[i-1], "\r\n"), `\`)) {
			i += n - 1
			continue
		}
		out.WriteString(lines[i])
	}
	return out.String()
}

// ownSection returns how many lines at the beginning are a whole section that withSection wrote; 0
// for none.
func ownSection(lines []string) int {
	const n = 4
	if len(lines) < n || lines[0] != section+"\n" {
		return 0
	}
	line, ok := strings.CutPrefix(lines[2], "\tdriver = \"")
	line, end := strings.CutSuffix(line, "\"\n")
	if _, own := programOf(line); !ok || !end || !own || strings.Join(lines[:n], "") != withSection("", line) {
		return 0
	}
	for _, l := range lines[n:] {
		switch l = strings.TrimSpace(l); {
		case strings.HasPrefix(l, "["):
			return n
		case l != "" && l[0] != '#' && l[0] != ';':
			return 0
		}
	}
	return n
}

// Remove makes the changes of Removal, in their order. It holds git's own lock of each file, and
// refuses a file that changed after Removal.
func (s State) Remove(list []Change) error {
	for _, c := range list {
		if err := s.write(c); err != nil {
			return fault.Wrap(err, "write %s", c.Path)
		}
	}
	return nil
}
