package main_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sshd "golang.org/x/crypto/ssh"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/rye-os/rye/internal/testkit"
)

// The two machines that programs reach. One is for the web, and the other for everything else.
const (
	webHost = "web.example.org"
	dbHost  = "db.example.org"
)

// reachable is an internet with a server for each of the programs.
type reachable struct {
	*internet
	root string // of the repository repo.git and the file welcome.txt
	ca   string // the file of the certificate authority
}

// newReachable starts the servers. Each says "welcome" to a program that reaches it.
func newReachable(t *testing.T) *reachable {
	t.Helper()
	r := &reachable{internet: newInternet(t), root: t.TempDir()}
	testkit.WriteFile(t, filepath.Join(r.root, "welcome.txt"), "welcome\n", 0o644)
	work := filepath.Join(r.root, "work")
	testkit.WriteFile(t, filepath.Join(work, "Cargo.toml"), "[package]\nname = \"demo\"\nversion = \"1.0.0\"\n", 0o644)
	testkit.WriteFile(t, filepath.Join(work, "src", "lib.rs"), "", 0o644)
	testkit.Git(t, r.root, "init", "-q", "-b", "main", work)
	testkit.Git(t, work, "add", ".")
	testkit.Git(t, work, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first")
	testkit.Git(t, r.root, "clone", "-q", "--bare", work, filepath.Join(r.root, "repo.git"))

	go names(testkit.ListenPacketIn(t, r.there, webAddress+":53"), map[string]string{webHost: webAddress, dbHost: dbAddress})
	var cert tls.Certificate
	cert, r.ca = authorityFor(t, webHost, "*.example.org")
	web := r.web(t)
	server := &http.Server{Handler: web, ErrorLog: log.New(io.Discard, "", 0), TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}
	go server.ServeTLS(testkit.ListenIn(t, r.there, webAddress+":443"), "", "")
	key := sshKey(t)
	for port, serve := range map[int]func(net.Conn){
		7000: greets, 5432: postgres, 6379: redis, 22: func(c net.Conn) { r.ssh(c, key) },
		9418: r.by("git", "daemon", "--inetd", "--export-all", "--base-path="+r.root),
		873:  r.rsync(t),
	} {
		l := testkit.ListenIn(t, r.there, fmt.Sprintf("%s:%d", dbAddress, port))
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					conn.SetDeadline(time.Now().Add(time.Minute))
					serve(conn)
				}()
			}
		}()
	}
	return r
}

// names is a name server for the IPv4 addresses of some hosts.
func names(c net.PacketConn, hosts map[string]string) {
	raw := make([]byte, 512)
	for {
		n, from, err := c.ReadFrom(raw)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(raw[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Header, m.Additionals = dnsmessage.Header{ID: m.ID, Response: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true}, nil
		a, err := netip.ParseAddr(hosts[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))])
		switch {
		case err != nil:
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, Body: &dnsmessage.AResource{A: a.As4()}}}
		}
		if answer, err := m.Pack(); err == nil {
			c.WriteTo(answer, from)
		}
	}
}

// authorityFor returns a certificate for names, and the file of the authority that signed it.
func authorityFor(t *testing.T, names ...string) (tls.Certificate, string) {
	t.Helper()
	made := func(c, parent *x509.Certificate, by *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		testkit.Must(t, err)
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		if by == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
		testkit.Must(t, err)
		return der, key
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "authority of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	rootDER, rootKey := made(root, nil, nil)
	leaf, leafKey := made(&x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, root, rootKey)
	file := filepath.Join(t.TempDir(), "ca.pem")
	testkit.WriteFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})), 0o644)
	return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: leafKey}, file
}

// web is a page, a repository of git's, and what mirrors of packages answer.
func (r *reachable) web(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "welcome\n") })
	mux.Handle("/repo.git/", &cgi.Handler{Path: testkit.NeedProgram(t, "git"), Args: []string{"http-backend"}, Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + r.root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})
	mux.HandleFunc("/maven/acme/parent/1/parent-1.pom", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<project><modelVersion>4.0.0</modelVersion><groupId>acme</groupId><artifactId>parent</artifactId><version>1</version><packaging>pom</packaging></project>")
	})
	mux.HandleFunc("/", mirrorAnswer)
	return mux
}

// greets answers the first line of a connection.
func greets(c net.Conn) {
	if _, err := bufio.NewReader(io.LimitReader(c, 4096)).ReadString('\n'); err == nil {
		io.WriteString(c, "welcome\n")
	}
}

// by serves a connection with a program that takes it as its standard input and output.
func (r *reachable) by(argv ...string) func(net.Conn) {
	return func(c net.Conn) {
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			return
		}
		defer f.Close()
		cmd := exec.CommandContext(r.t.Context(), argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout = f, f
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
		cmd.Run()
	}
}

// rsync is rsync's own daemon.
func (r *reachable) rsync(t *testing.T) func(net.Conn) {
	conf := filepath.Join(t.TempDir(), "rsyncd.conf")
	testkit.WriteFile(t, conf, "use chroot = no\nreverse lookup = no\nuid = 0\ngid = 0\nlog file = /dev/null\n[files]\npath = "+r.root+"\nread only = yes\n", 0o600)
	return r.by("rsync", "--daemon", "--config="+conf)
}

// postgres is a server of PostgreSQL's protocol 3 that answers every query with "welcome".
func postgres(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		head := make([]byte, 8)
		if _, err := io.ReadFull(in, head); err != nil {
			return
		}
		code := binary.BigEndian.Uint32(head[4:])
		if code == 80877103 || code == 80877104 { // SSLRequest, GSSENCRequest
			c.Write([]byte("N"))
			continue
		}
		if _, err := in.Discard(int(min(binary.BigEndian.Uint32(head), 4096)) - 8); err != nil {
			return
		}
		break
	}
	say := func(kind byte, body string) {
		c.Write(append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...))
	}
	say('R', "\x00\x00\x00\x00")
	say('S', "server_version\x0015.0\x00")
	say('Z', "I")
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(in, head); err != nil || head[0] != 'Q' {
			return
		}
		if _, err := in.Discard(int(min(binary.BigEndian.Uint32(head[1:]), 4096)) - 4); err != nil {
			return
		}
		say('T', "\x00\x01greeting\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x19\xff\xff\xff\xff\xff\xff\x00\x00")
		say('D', "\x00\x01\x00\x00\x00\x07welcome")
		say('C', "SELECT 1\x00")
		say('Z', "I")
	}
}

// redis is a server of Redis's protocol that answers GET with "welcome".
func redis(c net.Conn) {
	in := bufio.NewReader(io.LimitReader(c, 1<<16))
	number := func(mark string) int {
		line, _ := in.ReadString('\n')
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), mark))
		if err != nil || n > 4096 {
			return -1
		}
		return n
	}
	for {
		var words []string
		for n := number("*"); n > len(words); {
			word := make([]byte, max(number("$"), 0)+2)
			if _, err := io.ReadFull(in, word); err != nil {
				return
			}
			words = append(words, string(word[:len(word)-2]))
		}
		switch {
		case words == nil:
			return
		case strings.EqualFold(words[0], "get"):
			io.WriteString(c, "$7\r\nwelcome\r\n")
		default:
			io.WriteString(c, "-ERR unknown command\r\n")
		}
	}
}

func sshKey(t *testing.T) sshd.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	testkit.Must(t, err)
	signer, err := sshd.NewSignerFromKey(key)
	testkit.Must(t, err)
	return signer
}

// ssh is a server that lets everybody in. It runs git-upload-pack and sftp's first steps, and greets
// whoever runs anything else.
func (r *reachable) ssh(c net.Conn, key sshd.Signer) {
	conf := &sshd.ServerConfig{NoClientAuth: true}
	conf.AddHostKey(key)
	_, channels, requests, err := sshd.NewServerConn(c, conf)
	if err != nil {
		return
	}
	go sshd.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			offered.Reject(sshd.UnknownChannelType, "sessions only")
			continue
		}
		ch, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go r.session(ch, requests)
	}
}

func (r *reachable) session(ch sshd.Channel, requests <-chan *sshd.Request) {
	defer ch.Close()
	for q := range requests {
		var body struct{ Text string }
		if (q.Type != "exec" && q.Type != "subsystem") || sshd.Unmarshal(q.Payload, &body) != nil {
			q.Reply(q.Type == "env", nil)
			continue
		}
		q.Reply(true, nil)
		status := uint32(0)
		switch {
		case body.Text == "sftp":
			sftp(ch)
		case strings.HasPrefix(body.Text, "git-upload-pack "):
			cmd := exec.CommandContext(r.t.Context(), "git", "upload-pack", filepath.Join(r.root, "repo.git"))
			cmd.Stdout = ch
			in, err := cmd.StdinPipe()
			if err != nil || cmd.Start() != nil {
				return
			}
			go func() { io.Copy(in, ch); in.Close() }()
			if cmd.Wait() != nil {
				status = 1
			}
		default:
			io.WriteString(ch, "welcome\n")
		}
		ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, status))
		return
	}
}

// sftp answers the requests of version 3 that ask for a path, and nothing else.
func sftp(ch io.ReadWriter) {
	for {
		var head [5]byte
		if _, err := io.ReadFull(ch, head[:]); err != nil {
			return
		}
		body := make([]byte, min(binary.BigEndian.Uint32(head[:]), 1<<16)-1)
		if _, err := io.ReadFull(ch, body); err != nil || len(body) < 4 {
			return
		}
		var answer bytes.Buffer
		text := func(s string) {
			answer.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s))))
			answer.WriteString(s)
		}
		switch head[4] {
		case 1: // INIT
			answer.Write([]byte{2, 0, 0, 0, 3})
		case 16: // REALPATH
			answer.WriteByte(104)
			answer.Write(body[:4])
			answer.Write([]byte{0, 0, 0, 1})
			text("/welcome")
			text("/welcome")
			answer.Write(make([]byte, 4))
		default: // unsupported
			answer.WriteByte(101)
			answer.Write(body[:4])
			answer.Write([]byte{0, 0, 0, 8})
			text("")
			text("")
		}
		if _, err := ch.Write(append(binary.BigEndian.AppendUint32(nil, uint32(answer.Len())), answer.Bytes()...)); err != nil {
			return
		}
	}
}
