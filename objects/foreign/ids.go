package foreign

import (
	"crypto/sha256"
	"fmt"
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

const (
	maxSlug = 80 // bytes of a name, so that a plugin's name fits in front within an id's segment
	maxTwin = 99 // bundles with one name and other files
)

// mainly turns a foreign name into one for rye, in lower case. Every character except letters,
// digits and _ becomes a hyphen, but not at the ends.
func mainly(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_':
			b.WriteRune(c)
		case b.Len() > 0:
			b.WriteByte('-')
		}
	}
	return strings.TrimRight(b.String(), "-")
}

// slug is mainly for a name that must become one. A name without a letter that an id can hold,
// and a very long one, get some digits of their SHA-256.
func slug(name string) string {
	s := mainly(name)
	switch {
	case s == "":
		return fmt.Sprintf("x-%.4x", sha256.Sum256([]byte(objects.NormalMember(name))))
	case len(s) > maxSlug:
		return fmt.Sprintf("%s-%.4x", strings.TrimRight(s[:maxSlug-9], "-"), sha256.Sum256([]byte(objects.NormalMember(name))))
	}
	if _, err := objects.ParseID("x/" + s); err != nil { // a device of Windows
		return "x-" + s
	}
	return s
}

// inPlugin puts the name of a plugin in front of a skill's, unless it is there.
func inPlugin(p *plugin, name string) string {
	if p == nil {
		return name
	}
	plug := slug(p.name)
	if name == plug || strings.HasPrefix(name, plug+"-") {
		return name
	}
	return plug + "-" + name
}

// id returns the id that the user wants, else the id for a thing with this name.
func (r *reading) id(name string) (objects.ID, error) {
	if strings.Contains(r.wish.As, "/") {
		return objects.ParseID(r.wish.As)
	}
	id, err := objects.ParseID(r.namespace() + "/" + name)
	if err != nil {
		err = fault.Wrap(err, "add %q", words.Brief(name)).Advise("rye add <it> --as %s/<name>", r.namespace())
	}
	return id, err
}

// bundleID returns the id and the directory for the next bundle in found. The first of the names
// that no bundle has counts.
func (r *reading) bundleID(names ...string) (objects.ID, string, error) {
	if strings.Contains(r.wish.As, "/") {
		id, err := r.id("")
		if err == nil && strings.Count(string(id), "/") != 1 {
			err = fault.New(fault.Usage, "add: a bundle is called <namespace>/<name>, and %q is not", id)
		}
		return id, objects.BundlesDir + "/" + string(id), err
	}
	for n := 2; n <= maxTwin; n++ {
		names = append(names, fmt.Sprintf("%s-%d", names[0], n))
	}
	for _, name := range names {
		id, err := r.id(name)
		if err != nil {
			return "", "", err
		}
		if _, taken := r.ids[id]; !taken {
			r.ids[id] = len(r.found)
			return id, objects.BundlesDir + "/" + string(id), nil
		}
	}
	return "", "", fault.New(fault.Conflict, "more than %d things are called %q", maxTwin, words.Brief(names[0]))
}

// longer returns names for a folder whose own name is taken: with the names of the folders above
// in front, one more each time.
func longer(p *plugin, dir string, name string) (all []string) {
	for at := path.Dir(dir); at != "." && at != "/"; at = path.Dir(at) {
		above := mainly(path.Base(at))
		if above == "" || above == "skills" || p != nil && (above == mainly(p.name) || !under(at, p.root)) {
			continue
		}
		if name = above + "-" + name; len(inPlugin(p, name)) > 100 {
			break
		}
		all = append(all, inPlugin(p, name))
	}
	return all
}
