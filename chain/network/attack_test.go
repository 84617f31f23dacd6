//go:build unix

package network

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rye-os/rye/internal/testkit"
)

// authority is a certificate, and the private key of it that is as good as a password.
func authority(t *testing.T) (cert, key string) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	testkit.Must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "corp"}, NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, pub, priv)
	testkit.Must(t, err)
	k, err := x509.MarshalPKCS8PrivateKey(priv)
	testkit.Must(t, err)
	block := func(typ string, raw []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: raw}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", k)
}

// TestClonesFilesDoNotCount: neither a file of the project nor one that is reached through it.
func TestClonesFilesDoNotCount(t *testing.T) {
	const npmrc, pipconf = "registry=http://evil/\n", "[global]\nindex-url = http://evil/simple\n"
	for _, c := range []struct {
		name string
		do   func(u *user, in string)
		want []string
	}{
		{"files at its top", func(u *user, in string) {
			for name, text := range map[string]string{".npmrc": npmrc, "pip.conf": pipconf, ".pip/pip.conf": pipconf, ".config/pip/pip.conf": pipconf, ".curlrc": "proxy = evil", ".gitconfig": "[http]\nproxy=http://evil", ".envrc": "export https_proxy=http://evil"} {
				testkit.WriteFile(u.t, filepath.Join(in, name), text, 0o600)
			}
		}, nil},
		{"a link to it", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "x"), npmrc, 0o600)
			testkit.Must(u.t, os.Symlink(filepath.Join(in, "x"), filepath.Join(u.src.Home, ".npmrc")))
		}, []string{"~/.npmrc " + inProject}},
		{"a link of it that leads out again", func(u *user, in string) {
			u.home("other", npmrc)
			testkit.Must(u.t, os.Symlink(filepath.Join(u.src.Home, "other"), filepath.Join(in, "x")))
			testkit.Must(u.t, os.Symlink(filepath.Join(in, "x"), filepath.Join(u.src.Home, ".npmrc")))
		}, []string{"~/.npmrc " + inProject}},
		{"a linked directory above", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "cfg/pip/pip.conf"), pipconf, 0o600)
			testkit.Must(u.t, os.Symlink(filepath.Join(in, "cfg"), filepath.Join(u.src.Home, ".config")))
		}, []string{"~/.config/pip/pip.conf " + inProject}},
		{"a variable that names it", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "x"), pipconf+npmrc, 0o600)
			u.src.Env = append(u.src.Env, "PIP_CONFIG_FILE="+in+"/x", "NPM_CONFIG_USERCONFIG="+in+"/../project/x", "GOENV="+in+"/x", "GIT_CONFIG_GLOBAL="+in+"/x")
		}, []string{"GIT_CONFIG_GLOBAL " + inProject, "GOENV " + inProject, "PIP_CONFIG_FILE " + inProject, "npm_config_userconfig " + inProject}},
		{"a relative variable", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "x"), pipconf, 0o600)
			u.t.Chdir(in)
			u.src.Env = append(u.src.Env, "PIP_CONFIG_FILE=x", "SSL_CERT_FILE=x")
		}, []string{"PIP_CONFIG_FILE " + notAbsolute, "SSL_CERT_FILE " + notAbsolute}},
		{"a directory of settings in it", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "pip/pip.conf"), pipconf, 0o600)
			testkit.WriteFile(u.t, filepath.Join(in, ".curlrc"), "proxy = evil", 0o600)
			u.src.Env = append(u.src.Env, "XDG_CONFIG_HOME="+in, "CURL_HOME="+in)
		}, []string{"PROJECT/.curlrc " + inProject, "PROJECT/pip/pip.conf " + inProject}},
		{"the home itself", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "h/.npmrc"), npmrc, 0o600)
			u.src.Home = filepath.Join(in, "h")
		}, []string{"~/.npmrc " + inProject}},
		{"another spelling of its path", func(u *user, in string) {
			testkit.WriteFile(u.t, filepath.Join(in, "x"), npmrc, 0o600)
			testkit.Must(u.t, os.Symlink(in, in+"-too"))
			u.src.Env = append(u.src.Env, "npm_config_userconfig="+in+"-too/x")
		}, []string{"npm_config_userconfig " + inProject}},
		{"certificates", func(u *user, in string) {
			cert, _ := authority(u.t)
			testkit.WriteFile(u.t, filepath.Join(in, "ca.pem"), cert, 0o600)
			testkit.Must(u.t, os.Symlink(filepath.Join(in, "ca.pem"), filepath.Join(u.src.Home, "ca.pem")))
			u.src.Env = append(u.src.Env, "SSL_CERT_FILE="+in+"/ca.pem", "PIP_CERT="+u.src.Home+"/ca.pem", "SSL_CERT_DIR="+in)
		}, []string{"PIP_CERT " + inProject, "SSL_CERT_DIR " + inProject, "SSL_CERT_FILE " + inProject}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := newUser(t)
			c.do(u, u.src.Project)
			vars, skipped, _ := u.read()
			if len(vars) > 0 {
				t.Errorf("a tool gets %q", vars)
			}
			slices.Sort(skipped)
			if !slices.Equal(skipped, c.want) {
				t.Errorf("skipped %q, want %q", skipped, c.want)
			}
		})
	}
}

// TestCertificatesAlone: of a file with a key and a password, a tool gets the certificates.
func TestCertificatesAlone(t *testing.T) {
	one, key := authority(t)
	two, _ := authority(t)
	fake := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(secret)}))
	head := strings.Replace(two, "-----\n", "-----\nPassword: "+secret+"\n\n", 1)
	other := strings.ReplaceAll(one, "CERTIFICATE", "PRIVATE KEY")
	u := newUser(t).home("ca.pem", "# "+secret+"\n"+key+one+secret+"\n"+fake+other+head+key)
	for _, v := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "NPM_CONFIG_CAFILE"} {
		u.src.Env = append(u.src.Env, v+"="+u.src.Home+"/ca.pem")
	}
	vars, skipped, found := u.read()
	if len(vars) != 7 || len(skipped) > 0 {
		t.Fatal(vars, skipped)
	}
	for _, s := range found.Settings {
		if len(s.Files) != 1 || s.Files[0].Path != vars[strings.Replace(s.Name, "NPM_CONFIG_CAFILE", "npm_config_cafile", 1)] || !filepath.IsLocal(s.Files[0].Path) {
			t.Fatalf("%+v", s)
		}
		if got := string(s.Files[0].Data); got != one+two {
			t.Errorf("%s gets\n%s", s.Name, got)
		}
	}
}

// TestCertificatesInFiles: the variables of programs and their files lead to one copy, and the
// certificates of a directory join those of the file.
func TestCertificatesInFiles(t *testing.T) {
	one, key := authority(t)
	two, _ := authority(t)
	u := newUser(t).home("one.pem", one).home("certs/a.0", two).home("certs/key.pem", key).
		home(".pip/pip.conf", "[global]\ncert = ~/one.pem\n").home(".npmrc", "cafile=~/one.pem\n").
		home(".gitconfig", "[http]\n\tsslCAInfo = ~/one.pem\n").home(".curlrc", "cacert = \"~/one.pem\"\n")
	testkit.Must(t, syscall.Mkfifo(filepath.Join(u.src.Home, "certs/pipe"), 0o600))
	u.src.Env = append(u.src.Env, "SSL_CERT_FILE="+u.src.Home+"/one.pem", "SSL_CERT_DIR=/etc/ssl:"+u.src.Home+"/certs")
	vars, skipped, found := u.read()
	if len(skipped) > 0 {
		t.Error(skipped)
	}
	for _, name := range []string{"CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "npm_config_cafile"} {
		if vars[name] == "" || vars[name] != vars["PIP_CERT"] {
			t.Errorf("%s is %q", name, vars[name])
		}
	}
	if vars["SSL_CERT_DIR"] != "" {
		t.Errorf("SSL_CERT_DIR is %q", vars["SSL_CERT_DIR"])
	}
	for _, s := range found.Settings {
		if s.Name == "SSL_CERT_DIR" && (string(s.Files[0].Data) != one+two || vars["SSL_CERT_FILE"] != s.Files[0].Path) {
			t.Errorf("%+v", s)
		}
	}
}

// TestHostileFiles: no file is waited for, read without end, or believed.
func TestHostileFiles(t *testing.T) {
	u := newUser(t)
	pipe := filepath.Join(u.src.Home, ".npmrc")
	testkit.Must(t, syscall.Mkfifo(pipe, 0o600))
	testkit.Must(t, os.MkdirAll(filepath.Join(u.src.Home, ".gitconfig"), 0o700))
	huge := func(name string) string {
		path := filepath.Join(u.src.Home, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		f, err := os.Create(path)
		testkit.Must(t, err)
		testkit.Must(t, f.Truncate(1<<30))
		testkit.Must(t, f.Close())
		return path
	}
	huge(".config/go/env")
	loop := filepath.Join(u.src.Home, "loop")
	testkit.Must(t, os.Symlink(loop, loop))
	u.home("none.pem", "nothing")
	u.src.Env = append(u.src.Env, "SSL_CERT_FILE="+huge("ca.pem"), "PIP_CERT="+pipe, "REQUESTS_CA_BUNDLE=/dev/zero", "CURL_CA_BUNDLE="+loop, "NODE_EXTRA_CA_CERTS="+u.src.Home+"/none.pem", "GIT_SSL_CAINFO="+u.src.Home+"/gone.pem")
	vars, skipped, _ := u.read()
	if len(vars) > 0 {
		t.Errorf("a tool gets %q", vars)
	}
	slices.Sort(skipped)
	want := []string{"CURL_CA_BUNDLE " + missing, "GIT_SSL_CAINFO " + missing, "NODE_EXTRA_CA_CERTS " + noCertificates, "PIP_CERT " + notFile, "REQUESTS_CA_BUNDLE " + notFile, "SSL_CERT_FILE " + tooLarge,
		"~/.config/go/env " + tooLarge, "~/.gitconfig " + notFile, "~/.npmrc " + notFile}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %q\nwant    %q", skipped, want)
	}
}

// FuzzRead: whatever a file holds, a value is an address without a user, and nothing of it starts
// a program.
func FuzzRead(f *testing.F) {
	f.Add("pip", "[global]\nindex-url = http://u:p@h:1/x\n")
	f.Add("npm", "registry=\"http://u:p@h/\"\nhttps-proxy=u:p@h:1\n")
	f.Add("git", "[http]\nproxy = \"http://u:p@h\" # x\n")
	f.Add("curl", "-x u:p@h:1\n")
	f.Add("go", "GOPROXY=https://u:p@h|direct\n")
	f.Fuzz(func(t *testing.T, program, text string) {
		parse, ok := parsers[program]
		if !ok {
			return
		}
		values, _ := parse(text)
		r := &reader{configs: map[string]map[string]entry{program: {}}}
		for k, v := range values {
			r.configs[program][k] = entry{value: v, from: "x"}
		}
		for _, row := range rows {
			if row.program != program || row.kind == bundle {
				continue
			}
			if e, ok := r.find(row); ok {
				r.add(row, e)
			}
		}
		for _, s := range r.found.Settings {
			for name, v := range s.Vars {
				if strings.Contains(v, "@") || strings.ContainsAny(v, "\n\r\x00\"'`$\\;") {
					t.Errorf("%s=%q", name, v)
				}
			}
		}
	})
}
