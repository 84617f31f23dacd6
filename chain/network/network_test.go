package network

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rye-os/rye/internal/testkit"
)

// secret is every password of these tests. It must come out nowhere.
const secret = "s3cr3t"

func TestMain(m *testing.M) {
	testOnlyEtc = filepath.Join(os.TempDir(), "rye-no-etc")
	os.Exit(m.Run())
}

// TestSystemFiles: tools read the system's files themselves, so these open ports only.
func TestSystemFiles(t *testing.T) {
	u := newUser(t)
	defer func(was string) { testOnlyEtc = was }(testOnlyEtc)
	testOnlyEtc = filepath.Join(filepath.Dir(u.src.Home), "etc")
	testkit.WriteFile(t, filepath.Join(testOnlyEtc, "pip.conf"), "[global]\nindex-url = http://bob:"+secret+"@nexus:8081/simple\n", 0o644)
	testkit.Must(t, os.Chmod(filepath.Join(testOnlyEtc, "pip.conf"), 0o644))
	vars, skipped, found := u.read()
	if len(vars) > 0 || len(skipped) > 0 || len(found.Settings) != 1 {
		t.Fatalf("%q, skipped %q, %+v", vars, skipped, found)
	}
	if s := found.Settings[0]; !s.System || !slices.Equal(s.Ports(), []uint16{8081}) {
		t.Errorf("%+v", s)
	}
	u.home(".pip/pip.conf", "[global]\nindex-url = https://mine/simple\n") // which comes before
	if vars, _, _ := u.read(); vars["PIP_INDEX_URL"] != "https://mine/simple" {
		t.Errorf("%q", vars)
	}
	testkit.Must(t, os.Remove(filepath.Join(u.src.Home, ".pip/pip.conf")))
	testkit.Must(t, os.Chmod(filepath.Join(testOnlyEtc, "pip.conf"), 0o640)) // tools cannot read it then
	if vars, _, _ := u.read(); vars["PIP_INDEX_URL"] != "http://nexus:8081/simple" {
		t.Errorf("%q", vars)
	}
}

// user is one user's machine.
type user struct {
	t   *testing.T
	src Source
}

func newUser(t *testing.T, env ...string) *user {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	testkit.Must(t, err)
	u := &user{t: t, src: Source{Home: filepath.Join(base, "home"), Project: filepath.Join(base, "project"), Env: env}}
	for _, dir := range []string{u.src.Home, u.src.Project} {
		testkit.Must(t, os.MkdirAll(dir, 0o755))
	}
	if runtime.GOOS != "linux" {
		t.Skip("the paths are Linux's")
	}
	u.src.Env = append(u.src.Env, "XDG_CONFIG_DIRS="+filepath.Join(base, "none"))
	return u
}

func (u *user) home(name, text string) *user {
	testkit.WriteFile(u.t, filepath.Join(u.src.Home, name), text, 0o600)
	return u
}

// read returns the variables that a tool with every need gets, and the lines about what is skipped.
func (u *user) read() (vars map[string]string, skipped []string, found Found) {
	u.t.Helper()
	found = Read(u.src)
	vars = map[string]string{}
	for _, s := range found.Admitted([]string{"*"}) {
		maps.Copy(vars, s.Vars)
		maps.Copy(vars, s.Paths)
	}
	for _, s := range found.Skipped {
		skipped = append(skipped, strings.ReplaceAll(s.What+" "+s.Why, u.src.Project, "PROJECT"))
	}
	if text := fmt.Sprintf("%+v", found); strings.Contains(text, secret) {
		u.t.Errorf("a password came out: %s", text)
	}
	for _, s := range found.Settings {
		for _, f := range s.Files {
			if strings.Contains(string(f.Data), secret) {
				u.t.Errorf("a password is in %s:\n%s", f.Path, f.Data)
			}
		}
	}
	return vars, skipped, found
}

// TestRead: what each program's settings become.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     []string
		files   map[string]string // below the home
		want    map[string]string
		skipped []string
	}{
		{name: "nothing", want: map[string]string{}},
		{name: "proxies in both spellings", env: []string{"http_proxy=proxy:3128", "HTTPS_PROXY=https://proxy.corp", "ALL_PROXY=socks5h://[::1]:1080", "no_proxy=localhost,.corp,10.0.0.0/8", "HTTP_PROXY="},
			want: map[string]string{"http_proxy": "http://proxy:3128", "HTTPS_PROXY": "https://proxy.corp", "ALL_PROXY": "socks5h://[::1]:1080", "no_proxy": "localhost,.corp,10.0.0.0/8"}},
		{name: "a password is left out", env: []string{"https_proxy=http://bob:" + secret + "@proxy:3128", "HTTP_PROXY=bob:" + secret + "@proxy:3128/", "PIP_INDEX_URL=https://__token__:" + secret + "@nexus.corp/simple?token=" + secret + "#" + secret},
			want: map[string]string{"https_proxy": "http://proxy:3128", "HTTP_PROXY": "http://proxy:3128/", "PIP_INDEX_URL": "https://nexus.corp/simple"}},
		{name: "a password that is not encoded is no address", env: []string{"https_proxy=http://bob:/" + secret + "@proxy:3128", "http_proxy=http://bob:1" + secret + "#@proxy", "ALL_PROXY=http://bob:80/" + secret + "@proxy:3128", "HTTP_PROXY=http://bob:" + secret + " x@proxy"},
			want:    map[string]string{},
			skipped: []string{"http_proxy " + notAddress, "HTTP_PROXY " + notAddress, "https_proxy " + hiddenUser, "ALL_PROXY " + hiddenUser}},
		{name: "no other schemes and hosts", env: []string{"http_proxy=file:///etc/passwd", "https_proxy=http://a b/", "ALL_PROXY=http://$(id):1", "HTTP_PROXY=http://proxy:0", "HTTPS_PROXY=http://pröxy", "PIP_INDEX_URL=ssh://x/", "npm_config_registry=http://h\"/"},
			want: map[string]string{}, skipped: []string{"http_proxy " + notAddress, "HTTP_PROXY " + notAddress, "https_proxy " + notAddress, "HTTPS_PROXY " + notAddress, "ALL_PROXY " + notAddress, "PIP_INDEX_URL " + notAddress, "npm_config_registry " + notAddress}},
		{name: "pip, in the order of its files", files: map[string]string{
			".pip/pip.conf":        "[global]\nindex-url: http://old/simple\nproxy = old:1\n",
			".config/pip/pip.conf": "# mine\n[global]\nindex_url = http://bob:" + secret + "@nexus:8081/simple\nextra-index-url =\n    https://one/simple\n    https://two/simple\ntrusted-host = nexus other.host\n[install]\nindex-url = http://install:8081/simple\n[freeze]\ntimeout = 10\n"},
			want: map[string]string{"PIP_INDEX_URL": "http://install:8081/simple", "PIP_PROXY": "http://old:1", "PIP_EXTRA_INDEX_URL": "https://one/simple https://two/simple"}},
		{name: "pip trusts its mirror only", files: map[string]string{".config/pip/pip.conf": "[global]\nindex-url = http://nexus:8081/simple\ntrusted-host = nexus\n  pypi.org\n  files.pythonhosted.org\n"},
			want: map[string]string{"PIP_INDEX_URL": "http://nexus:8081/simple", "PIP_TRUSTED_HOST": "nexus"}},
		{name: "pip's own file keeps it from the user's", env: []string{"PIP_CONFIG_FILE=HOME/own.conf"}, files: map[string]string{"own.conf": "[global]\nindex-url = https://own/simple\n", ".pip/pip.conf": "[global]\nproxy = old:1\n"},
			want: map[string]string{"PIP_INDEX_URL": "https://own/simple"}},
		{name: "pip without files", env: []string{"PIP_CONFIG_FILE=/dev/null"}, files: map[string]string{".pip/pip.conf": "[global]\nproxy = old:1\n"}, want: map[string]string{}},
		{name: "the environment comes first", env: []string{"PIP_INDEX_URL=https://env/simple", "NPM_CONFIG_REGISTRY=https://env/npm"}, files: map[string]string{".pip/pip.conf": "[global]\nindex-url = https://file/simple\n", ".npmrc": "registry=https://file/npm\n"},
			want: map[string]string{"PIP_INDEX_URL": "https://env/simple", "npm_config_registry": "https://env/npm"}},
		{name: "npm", files: map[string]string{".npmrc": "; mine\nregistry=https://npm.corp:8443/repo/ ; comment\n@corp:registry=https://other/\n//npm.corp:8443/repo/:_authToken=" + secret + "\n_auth = " + secret + "\nproxy=null\nhttps-proxy=\"http://bob:" + secret + "@proxy:3128\"\nnoproxy=.corp\nscript-shell=/tmp/evil\nnode-options=--require /tmp/evil\n[section]\nregistry=https://section/\n"},
			want: map[string]string{"npm_config_registry": "https://npm.corp:8443/repo/", "npm_config_https_proxy": "http://proxy:3128", "npm_config_noproxy": ".corp"}},
		{name: "npm with a variable in it", files: map[string]string{".npmrc": "registry=https://${HOST}/\n"}, want: map[string]string{}, skipped: []string{"npm_config_registry in ~/.npmrc " + notAddress}},
		{name: "Go", files: map[string]string{".config/go/env": "GOPROXY=https://bob:" + secret + "@go.corp|https://two,direct\nGOPRIVATE=*.corp,github.com/acme/*\nGOSUMDB=sum.golang.org https://bob:" + secret + "@sum.corp/\nGOFLAGS=-toolexec=/tmp/evil\nGOINSECURE=*\n"},
			want: map[string]string{"GOPROXY": "https://go.corp|https://two,direct", "GOPRIVATE": "*.corp,github.com/acme/*", "GOSUMDB": "sum.golang.org https://sum.corp/"}},
		{name: "Go without its file", env: []string{"GOENV=off"}, files: map[string]string{".config/go/env": "GOPROXY=https://go.corp\n"}, want: map[string]string{}},
		{name: "Go with a path", env: []string{"GOPROXY=file:///srv/go,direct", "GOPRIVATE=$(id)"}, want: map[string]string{}, skipped: []string{"GOPROXY " + notAddress, "GOPRIVATE " + notModules}},
		{name: "git", files: map[string]string{".config/git/config": "[http]\n\tproxy = http://old:1\n", ".gitconfig": "[core]\n\tsshCommand = evil\n[http \"https://other\"]\n\tproxy = http://other:1\n[HTTP]\n\tProxy = \"http://bob:" + secret + "@proxy:3128\" ; mine\n[credential]\n\thelper = evil\n"},
			want: map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.proxy", "GIT_CONFIG_VALUE_0": "http://proxy:3128"}},
		{name: "curl", files: map[string]string{".curlrc": "# mine\n-H \"Authorization: " + secret + "\"\nuser = bob:" + secret + "\n--proxy bob:" + secret + "@proxy:3128\nnoproxy = \".corp,localhost\"\nproxy-user: bob:" + secret + "\ninsecure\n"},
			want: map[string]string{"CURL_HOME": "its content"}},
		{name: "broken files", files: map[string]string{".pip/pip.conf": "index-url = https://x\n", ".gitconfig": "[http\n", ".curlrc": "proxy = \"http://x\n", ".npmrc": "registry=https://x/\x00\n", ".config/go/env": "GOPROXY=\xff\n"},
			want: map[string]string{}, skipped: []string{"~/.pip/pip.conf " + notSettings, "~/.gitconfig " + notSettings, "~/.curlrc " + notSettings, "~/.npmrc " + notText, "~/.config/go/env " + notText}},
		{name: "a long value", env: []string{"NO_PROXY=" + strings.Repeat("a,", maxValue)}, want: map[string]string{}, skipped: []string{"NO_PROXY " + tooLong}},
		{name: "nothing else of the environment", env: []string{"PIP_NO_BUILD_ISOLATION=1", "NODE_OPTIONS=--require /x", "GIT_SSH_COMMAND=evil", "NODE_USE_ENV_PROXY=1", "NODE_USE_SYSTEM_CA=yes", "GIT_CONFIG_COUNT=1", "npm_config_script_shell=/x", "NODE_TLS_REJECT_UNAUTHORIZED=0"},
			want: map[string]string{"NODE_USE_ENV_PROXY": "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(t)
			for _, kv := range c.env {
				u.src.Env = append(u.src.Env, strings.ReplaceAll(kv, "HOME/", u.src.Home+"/"))
			}
			for name, text := range c.files {
				u.home(name, text)
			}
			vars, skipped, _ := u.read()
			if dir := vars["CURL_HOME"]; dir != "" {
				c.want["CURL_HOME"] = dir
			}
			if !maps.Equal(vars, c.want) {
				t.Errorf("got  %q\nwant %q", vars, c.want)
			}
			slices.Sort(skipped)
			slices.Sort(c.skipped)
			if !slices.Equal(skipped, c.skipped) {
				t.Errorf("skipped %q\nwant    %q", skipped, c.skipped)
			}
		})
	}
}

// TestFilesOfOtherSystems: where the programs look on each system, as their manuals say. The paths
// are data here; only a machine of that system has the files.
func TestFilesOfOtherSystems(t *testing.T) {
	windows := []string{`APPDATA=/h/AppData/Roaming`, `PROGRAMDATA=/ProgramData`}
	for _, c := range []struct {
		system, program string
		env             []string
		want            string
	}{
		{"linux", "pip", nil, "/etc/xdg/pip/pip.conf ETC/pip.conf /h/.pip/pip.conf /h/.config/pip/pip.conf"},
		{"darwin", "pip", nil, "/Library/Application Support/pip/pip.conf /h/.pip/pip.conf /h/.config/pip/pip.conf /h/Library/Application Support/pip/pip.conf"},
		{"windows", "pip", windows, "/ProgramData/pip/pip.ini /h/pip/pip.ini /h/AppData/Roaming/pip/pip.ini"},
		{"windows", "pip", nil, "/h/pip/pip.ini "},
		{"linux", "go", nil, "/h/.config/go/env"},
		{"linux", "go", []string{"XDG_CONFIG_HOME=/x"}, "/x/go/env"},
		{"darwin", "go", []string{"XDG_CONFIG_HOME=/x"}, "/h/Library/Application Support/go/env"},
		{"windows", "go", windows, "/h/AppData/Roaming/go/env"},
		{"linux", "git", nil, "ETC/gitconfig /h/.config/git/config /h/.gitconfig"},
		{"darwin", "git", nil, "ETC/gitconfig /h/.config/git/config /h/.gitconfig"},
		{"windows", "git", windows, "/h/.config/git/config /h/.gitconfig"},
		{"linux", "npm", nil, "/h/.npmrc"},
		{"darwin", "npm", nil, "/h/.npmrc"},
		{"windows", "npm", windows, "/h/.npmrc"},
	} {
		r := &reader{Source: Source{Home: "/h", Env: c.env}, system: c.system}
		got := strings.ReplaceAll(filepath.ToSlash(strings.Join(r.files(c.program), " ")), filepath.ToSlash(testOnlyEtc), "ETC")
		if got != c.want {
			t.Errorf("%s on %s with %q: %s, want %s", c.program, c.system, c.env, got, c.want)
		}
	}
}

// TestCurlFile: curl gets its proxy and nothing else of its file.
func TestCurlFile(t *testing.T) {
	u := newUser(t).home(".curlrc", "proxy bob:"+secret+"@proxy:3128\nnoproxy = .corp\nuser = bob:"+secret+"\noutput = /etc/x\n")
	vars, _, found := u.read()
	if len(found.Settings) != 1 || len(found.Settings[0].Files) != 1 {
		t.Fatalf("%+v", found)
	}
	f := found.Settings[0].Files[0]
	if want := "proxy = \"http://proxy:3128\"\nnoproxy = \".corp\"\n"; string(f.Data) != want || filepath.Dir(f.Path) != vars["CURL_HOME"] || filepath.Base(f.Path) != ".curlrc" {
		t.Errorf("%s in %q:\n%s", f.Path, vars, f.Data)
	}
}

// TestAdmitted: which needs a mirror, a proxy and a certificate reach.
func TestAdmitted(t *testing.T) {
	u := newUser(t, "PIP_INDEX_URL=http://127.0.0.1:8081/simple", "npm_config_registry=https://npm.corp/", "GOPROXY=http://10.0.0.1:3000", "https_proxy=http://proxy:3128")
	_, _, found := u.read()
	const pip, npm, golang, proxy = "PIP_INDEX_URL", "npm_config_registry", "GOPROXY", "https_proxy"
	for _, c := range []struct {
		needs string
		want  []string
	}{
		{"", nil},
		{"unix", nil},
		{"*", []string{proxy, pip, npm, golang}},
		{"*:443", []string{proxy, pip, npm, golang}},
		{"*:80", []string{proxy}},
		{"pypi.org", []string{proxy, pip}},
		{"PyPI.org:443", []string{proxy, pip}},
		{"pypi.org:*", []string{proxy, pip}},
		{"pypi.org:80", []string{proxy}},
		{"evil-pypi.org", []string{proxy}},
		{"pypi.org.evil.com", []string{proxy}},
		{"127.0.0.1:8081", nil},
		{"localhost:5432", nil},
		{"[::1]:5432", nil},
		{"127.0.0.1:80 registry.npmjs.org", []string{proxy, npm}},
		{"proxy.golang.org", []string{proxy, golang}},
	} {
		var got []string
		for _, s := range found.Admitted(strings.Fields(c.needs)) {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("needs.net %q: %q, want %q", c.needs, got, c.want)
		}
	}
	var ports []uint16
	for _, s := range found.Admitted([]string{"pypi.org"}) {
		ports = append(ports, s.Ports()...)
	}
	if !slices.Equal(ports, []uint16{3128, 8081}) {
		t.Errorf("ports %v", ports)
	}
}
