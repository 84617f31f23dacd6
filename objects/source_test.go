package objects

import (
	"strings"
	"testing"

	"github.com/rye-os/rye/fault"
)

func TestParseSource(t *testing.T) {
	commit := strings.Repeat("0123456789abcdef", 4)[:40]
	for in, want := range map[string]Source{
		"https://github.com/ada/skills":                       {SourceGit, "https://github.com/ada/skills", "", "", false},
		"HTTPS://GitHub.com:443/ada/skills.git/":              {SourceGit, "https://github.com/ada/skills", "", "", false},
		"https://git.example.org/ada/skills.git":              {SourceGit, "https://git.example.org/ada/skills.git", "", "", false},
		"https://git.example.org/skills#v1.2":                 {SourceGit, "https://git.example.org/skills", "v1.2", "", false},
		"https://git.example.org/skills//pdf/forms":           {SourceGit, "https://git.example.org/skills", "", "pdf/forms", false},
		"https://git.example.org/skills#feature/x//pdf":       {SourceGit, "https://git.example.org/skills", "feature/x", "pdf", false},
		"https://git.example.org/skills#refs/tags/v1//C#/pdf": {SourceGit, "https://git.example.org/skills", "refs/tags/v1", "C#/pdf", false},
		"https://git.example.org/skills#HEAD//pdf/":           {SourceGit, "https://git.example.org/skills", "", "pdf", false},
		"https://h.org/s#" + strings.ToUpper(commit):          {SourceGit, "https://h.org/s", commit, "", false},
		"http://127.0.0.1:8080/s.git":                         {SourceGit, "http://127.0.0.1:8080/s.git", "", "", false},
		"https://[2001:DB8::1]:8443/s":                        {SourceGit, "https://[2001:db8::1]:8443/s", "", "", false},
		"ssh://git@host.example.org:22/p.git#main//x":         {SourceGit, "ssh://git@host.example.org/p.git", "main", "x", false},
		"git@github.com:ada/skills.git":                       {SourceGit, "ssh://git@github.com/ada/skills", "", "", false},
		"git@host.example.org:ada/skills.git#v1//pdf":         {SourceGit, "git@host.example.org:ada/skills.git", "v1", "pdf", false},
		"git@host.example.org:/srv/skills.git":                {SourceGit, "ssh://git@host.example.org/srv/skills.git", "", "", false},
		"github:ada/skills#v1//pdf":                           {SourceGit, "https://github.com/ada/skills", "v1", "pdf", false},
		"ada/skills":                                          {SourceGit, "https://github.com/ada/skills", "", "", true},
		"ada/skills#v1//pdf":                                  {SourceGit, "https://github.com/ada/skills", "v1", "pdf", true},
		"./skills":                                            {SourceFolder, "./skills", "", "", false},
		"../a#b//c":                                           {SourceFolder, "../a#b//c", "", "", false},
		"skills":                                              {SourceFolder, "skills", "", "", false},
		"a/b/c":                                               {SourceFolder, "a/b/c", "", "", false},
		`C:\skills`:                                           {SourceFolder, `C:\skills`, "", "", false},
		"C:/skills.git#v1":                                    {SourceGit, "C:/skills.git", "v1", "", false},
		"theirs/.git":                                         {SourceGit, "theirs/.git", "", "", false},
		"./skills.git/":                                       {SourceGit, "./skills.git", "", "", false},
		"up/skills.git#v1//pdf":                               {SourceGit, "up/skills.git", "v1", "pdf", false},
		"file:///srv/skills.git#v1//pdf":                      {SourceGit, "file:///srv/skills.git", "v1", "pdf", false},
		"skills.zip":                                          {SourceArchive, "skills.zip", "", "", false},
		"./skills.tar.gz//pdf":                                {SourceArchive, "./skills.tar.gz", "", "pdf", false},
		"https://h.org/a/skills.tar.gz//pdf":                  {SourceArchive, "https://h.org/a/skills.tar.gz", "", "pdf", false},
		"https://h.org/a/skills.ZIP":                          {SourceArchive, "https://h.org/a/skills.ZIP", "", "", false},
		"https://docs.example.org":                            {SourceSite, "https://docs.example.org" + SiteIndex, "", "", false},
		"https://docs.example.org/":                           {SourceSite, "https://docs.example.org" + SiteIndex, "", "", false},
		"https://docs.example.org" + SiteIndex:                {SourceSite, "https://docs.example.org" + SiteIndex, "", "", false},
		"skills-lock.json":                                    {SourceLock, "skills-lock.json", "", "", false},
		"./app/apm.lock.yaml":                                 {SourceLock, "./app/apm.lock.yaml", "", "", false},
		"app/toolhive.lock.yaml":                              {SourceLock, "app/toolhive.lock.yaml", "", "", false},
	} {
		got, err := ParseSource(in)
		if err != nil || got != want {
			t.Errorf("ParseSource(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestParseSourceRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                                  "want 1 to",
		"-x":                                "dash",
		"--upload-pack=id":                  "dash",
		"a\x00b":                            "control",
		"https://h.org/a\nb":                "control",
		"./a\x1b[2J":                        "control",
		"https://ada:secret@h.org/s":        "credentials",
		"https://ghp_secret@github.com/a/b": "credentials",
		"https://@h.org/s":                  "credentials",
		"ssh://git:secret@h.org/s":          "credentials",
		"https://h.org/s?token=secret":      "query",
		"https://h.org/s.zip?sig=secret":    "query",
		"https://h.org/s?":                  "query",
		"git@h.org:ada:secret@x/s":          "credentials",
		"ftp://h.org/s":                     "scheme",
		"ext::sh -c id":                     "helpers",
		"https://h.org/s#":                  "nothing stands",
		"https://h.org/s#//x":               "nothing stands",
		"https://h.org/s#v1//":              "nothing stands",
		"https://h.org/s//":                 "nothing stands",
		"https://h.org/s//x#v1":             "ref stands before",
		"https://h.org/s#-x":                "begins with",
		"https://h.org/s#a/-x":              "begins with",
		"https://h.org/s#a..b":              "expression",
		"https://h.org/s#main@{1}":          "expression",
		"https://h.org/s#@":                 "expression",
		"https://h.org/s#main~1":            "character",
		"https://h.org/s#main^":             "character",
		"https://h.org/s#refs/pull/1/head":  "no branch",
		"https://h.org/s#refs/heads/":       "empty",
		"https://h.org/s#x.lock":            ".lock",
		"https://h.org/s#ma\u0456n":         "character",
		"https://h.org/s#refs/heads/" + strings.Repeat("a", 40): "id of a commit",
		"https://h.org/s#" + strings.Repeat("a", 300):           "longer",
		"https://h.org/s//../x":                                 "..",
		"https://h.org/s//a/../../x":                            "..",
		"https://h.org/s///etc":                                 "empty",
		"https://h.org/s//a//b":                                 "empty",
		"https://h.org/s//./b":                                  "empty, .",
		`https://h.org/s//a\b`:                                  "backslash",
		"https://h.org/s//a/.GIT/hooks":                         "git's own",
		"https://h.org/s//.git . ":                              "git's own",
		"https://h.org/../s":                                    "..",
		"https://h.org/%2e%2e/s":                                "..",
		"https://h.org/a%5cb/s":                                 "backslash",
		"https://h.org/a%00b":                                   "backslash",
		"https://h.org../s":                                     "empty",
		"https:///s":                                            "no host",
		"https://h.org:0/s":                                     "port",
		"https://h.org:99999/s":                                 "port",
		"https://-h.org/s":                                      "begins with a dash",
		"https://h\u0438.org/s":                                 "host holds",
		"https://[fe80::1%25eth0]/s":                            "host",
		"ssh://git@h.org":                                       "no path",
		"ssh://-oProxyCommand=id@h.org/s":                       "user name",
		"ssh://git@h.org/-x":                                    "dash",
		"git@h.org:-x":                                          "character",
		"git@-h.org:x":                                          "begins with a dash",
		"git@h.org:":                                            "character",
		"git@h.org:../x":                                        "..",
		"h.org:x":                                               "no address",
		"github:ada":                                            "no owner",
		"github:ada/skills/pdf":                                 "no owner",
		"github:-ada/skills":                                    "no owner",
		"github:ada/..":                                         "no owner",
		"https://github.com/ada":                                "no owner",
		"https://github.com/ada/s/tree/main/x":                  "page of GitHub",
		"file://host/s.git":                                     "no host",
		"file:///":                                              "no host",
		"https://docs.example.org//pdf":                         "no folders",
		"https://docs.example.org#v1":                           "only a repository",
		"https://h.org/s.zip#v1":                                "only a repository",
		"./s.zip#v1":                                            "no branches",
		strings.Repeat("a", 3000):                               "want 1 to",
	} {
		got, err := ParseSource(in)
		if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), why) {
			t.Errorf("ParseSource(%q) = %+v, %v; want a refusal with %q", in, got, err, why)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("ParseSource(%q): the error repeats the credentials: %v", in, err)
		}
	}
}

// FuzzParseSource parses arbitrary text. A source that is accepted, written in its normal form,
// must be read as the same source.
func FuzzParseSource(f *testing.F) {
	for _, s := range []string{"https://github.com/ada/skills#v1//pdf", "git@h.org:ada/s.git#x", "ada/skills", "./a.git//b", "https://h.org", "file:///a.git#b//c",
		"C:/x.zip//y", "ssh://git@[::1]:2222/x//y#z", "https://h.org/a%20b//c d", "a\\b", "http://0..", "https://github.com/a/b/tree/c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseSource(in)
		if err != nil {
			return
		}
		if strings.Contains(s.Path, "..") && strings.Contains("/"+s.Path+"/", "/../") || strings.HasPrefix(s.Address, "-") || strings.HasPrefix(s.Ref, "-") {
			t.Errorf("ParseSource(%q) = %+v", in, s)
		}
		again, err := ParseSource(s.String())
		if s.Short = false; err != nil || again != s {
			t.Errorf("ParseSource(%q) = %+v, and its normal form %q is %+v, %v", in, s, s, again, err)
		}
	})
}
