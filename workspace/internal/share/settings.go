package share

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/transport"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Settings of a user about sharing are a file in the user's configuration: a line "format: 1",
// then lines "<name>: <quoted text>", sorted, each name once. docs/format/sharing.md is normative.
const (
	SettingsFile = "sharing.yaml"
	settingsMax  = 8 << 10 // bytes of the file
	textMax      = 200     // bytes of a value

	authorName  = "author.name"
	authorEmail = "author.email"
	authorAsked = "author.asked" // "no": asked, and the user publishes without a name
	plainHosts  = "http.plain"
)

// Settings are a user's settings, by name; "" is unset.
type Settings map[string]string

// checks validate the value of each setting.
var checks = map[string]func(string) error{
	authorName:  checkName,
	authorEmail: checkEmail,
	plainHosts:  checkHosts,
	authorAsked: func(v string) error {
		if v != "no" {
			return errors.New(`want "no"`)
		}
		return nil
	},
}

// IsSetting reports whether a person can set this name about sharing.
func IsSetting(name string) bool { return checks[name] != nil && name != authorAsked }

func checkName(v string) error {
	if v != strings.TrimSpace(v) || strings.ContainsFunc(v, func(c rune) bool { return c == '<' || c == '>' || c == utf8.RuneError || !unicode.IsPrint(c) }) {
		return errors.New("want a name on one line, without < and >")
	}
	return nil
}

func checkEmail(v string) error {
	local, host, ok := strings.Cut(v, "@")
	odd := func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`<>(),:;"\`, c) }
	if !ok || local == "" || host == "" || strings.Contains(host, "@") || strings.ContainsFunc(v, odd) {
		return errors.New("want an address like ada@example.org")
	}
	return nil
}

func checkHosts(v string) error {
	for host := range strings.SplitSeq(v, ",") {
		name := host
		if h, port, err := net.SplitHostPort(host); err == nil {
			name = h
			if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
				return fmt.Errorf("port %q", port)
			}
		}
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]") != "" {
			return errors.New("want hosts like git.example.org:3000, with commas between")
		}
	}
	return nil
}

// ParseSettings parses the file. Encode writes an accepted file again, byte for byte.
func ParseSettings(raw []byte) (Settings, error) {
	out := Settings{}
	if len(raw) > settingsMax {
		return nil, fault.New(fault.Limit, "%s: more than %d bytes", SettingsFile, settingsMax)
	}
	rest, ok := bytes.CutPrefix(raw, []byte("format: 1\n"))
	if !ok {
		return nil, fault.New(fault.Malformed, "%s: does not begin with format: 1", SettingsFile)
	}
	for line := range strings.Lines(string(rest)) {
		name, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		value, err := strconv.Unquote(quoted)
		if err == nil {
			err = out.put(name, value)
		}
		if err != nil {
			return nil, fault.New(fault.Malformed, "%s: line %q: %w", SettingsFile, words.Brief(line), err)
		}
	}
	if !bytes.Equal(out.Encode(), raw) {
		return nil, fault.New(fault.Malformed, "%s: it is not in the form that rye writes", SettingsFile).Mend("rye config %s", authorEmail)
	}
	return out, nil
}

func (s Settings) put(name, value string) error {
	check := checks[name]
	if check == nil {
		return fmt.Errorf("no setting %q", words.Brief(name))
	}
	if len(value) > textMax {
		return fmt.Errorf("more than %d bytes", textMax)
	}
	if value == "" {
		delete(s, name)
		return nil
	}
	s[name] = value
	return check(value)
}

// Encode returns the text of the file.
func (s Settings) Encode() []byte {
	b := []byte("format: 1\n")
	for _, name := range slices.Sorted(maps.Keys(s)) {
		b = fmt.Appendf(b, "%s: %s\n", name, strconv.Quote(s[name]))
	}
	return b
}

func readSettings(s *custody.Desk) (Settings, error) {
	path := s.UserFile(SettingsFile)
	raw, err := place.Read(path, settingsMax)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err == nil {
		err = place.Trusted(path)
	}
	if err != nil {
		return nil, err
	}
	return ParseSettings(raw)
}

// settingsOf are the user's settings. Unreadable settings do not stop anyone from reading a
// registry; the user gets a notice.
func settingsOf(s *custody.Desk) Settings {
	set, err := readSettings(s)
	if err != nil {
		s.Tell(err.Error() + "; your settings for sharing are ignored")
	}
	return set
}

// changeSettings changes the file, one process at a time.
func changeSettings(ctx context.Context, s *custody.Desk, change func(Settings) error) error {
	if err := s.NeedConfig(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.ConfigDir, 0o700); err != nil {
		return err
	}
	path := s.UserFile(SettingsFile)
	unlock, err := place.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	set, err := readSettings(s)
	if err != nil {
		return err
	}
	if err := change(set); err != nil {
		return err
	}
	return place.File(path, set.Encode(), 0o600)
}

// ListSettings lists the user's settings about sharing, also outside of a project.
func ListSettings(_ context.Context, s *custody.Desk, _ struct{}) ([]rye.Setting, error) {
	set, err := readSettings(s)
	if err != nil {
		return nil, err
	}
	var all []rye.Setting
	for _, name := range []string{authorName, authorEmail, plainHosts} {
		one := rye.Setting{Name: name, Value: set[name], Origin: "default", Change: fault.Advice("rye config %s <value>", name)}
		if one.Value != "" {
			one.Origin = s.UserFile(SettingsFile)
		}
		all = append(all, one)
	}
	return all, nil
}

// Set changes a setting about sharing; an empty value removes it.
func Set(ctx context.Context, s *custody.Desk, q rye.SetRequest) (*rye.Setting, error) {
	err := changeSettings(ctx, s, func(set Settings) error {
		delete(set, authorAsked)
		if err := set.put(q.Name, q.Value); err != nil {
			return fault.New(fault.Usage, "config %s: %w", q.Name, err)
		}
		return nil
	})
	return &rye.Setting{Name: q.Name, Value: q.Value, Origin: s.UserFile(SettingsFile)}, err
}

// who is the name and address in the user's commits in registries; zero where none was given:
// then the commits carry the namespace's.
func (s Settings) who() store.Ident {
	if s[authorEmail] == "" && s[authorName] == "" {
		return store.Ident{}
	}
	return store.Ident{Name: cmp.Or(s[authorName], s[authorEmail]), Email: cmp.Or(s[authorEmail], "rye@rye.invalid")}
}

func (s Settings) plain() []string {
	if s[plainHosts] == "" {
		return nil
	}
	return strings.Split(s[plainHosts], ",")
}

// gitUser starts to ask git for the user's name and address, and returns a function for the
// answer. It returns nil if the user has already decided about publishing them, and where no person
// can be asked.
func gitUser(s *custody.Desk) (user func() (name, email string), err error) {
	set, err := readSettings(s)
	if err != nil || s.Consent == nil || s.NoPerson || set[authorEmail] != "" || set[authorName] != "" || set[authorAsked] != "" {
		return nil, err
	}
	user = sync.OnceValues(func() (string, string) { return transport.GitUser(TransportOf(s)) })
	go user()
	return user, nil
}

// askAuthor asks once whether to publish under git's name and address for the user. Every reader
// of a registry sees them, for ever, and a forge calls a signature verified only beside an
// address that it knows. If no one can be asked, nothing is published or remembered. A missing
// answer does not stop anyone from publishing.
func askAuthor(ctx context.Context, s *custody.Desk, user func() (name, email string)) error {
	if user == nil {
		return nil
	}
	name, email := user()
	if checkName(name) != nil || checkEmail(email) != nil || name == "" || len(name) > textMax || len(email) > textMax {
		return nil
	}
	yes, err := session.Put(ctx, s.Host, rye.Question{Topic: "publish as " + email, Text: "Publish your name and email address with your items?",
		Lines: []string{name + " <" + email + ">", "from your git; every reader of the registry sees them, and they stay in its history",
			"a forge that knows the address shows your signatures as verified"},
		Mend: fault.Command("rye config %s %s", authorEmail, email), Person: true})
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	return changeSettings(ctx, s, func(set Settings) error {
		if !yes {
			return set.put(authorAsked, "no")
		}
		return cmp.Or(set.put(authorName, name), set.put(authorEmail, email))
	})
}
