package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
)

// stream is a session over one connection: TCP, the pipes of ssh, or the pipes to a server in
// this process.
type stream struct {
	r      *Remote
	p      *pktReader
	in     *boundedReader
	w      *watchedWriter
	closer func() error
	half   func() error // ends sending, so that the other side sees the end of a pack; may be nil
	stop   func() bool  // ends watching the context
	once   sync.Once
}

// newStream binds a connection to ctx: when the operation ends early, closing the connection
// wakes every waiting reader and writer.
func (r *Remote) newStream(ctx context.Context, in io.Reader, w io.Writer, closer func() error) *stream {
	s := &stream{r: r, in: &boundedReader{ctx: ctx, r: in, left: r.o.MaxAdvert}, w: &watchedWriter{ctx, w}, closer: closer}
	s.p = newPktReader(s.in)
	s.resume(ctx)
	return s
}

// resume binds the stream to the operation of ctx.
func (s *stream) resume(ctx context.Context) {
	s.in.ctx, s.w.ctx = ctx, ctx
	s.stop = context.AfterFunc(ctx, func() { s.shut() })
}

// pause unbinds the stream from a finished operation. It returns false if the end of that
// operation closed the stream.
func (s *stream) pause() bool {
	ok := s.stop()
	s.stop = func() bool { return ok }
	return ok
}

func (s *stream) shut() (err error) {
	s.once.Do(func() { err = s.closer() })
	return err
}

func (s *stream) advert() *pktReader { return s.p }

func (s *stream) round(ctx context.Context, q *request) (*pktReader, error) {
	s.in.left = max(q.limit, s.r.o.MaxAdvert)
	_, err := s.w.Write(q.head.Bytes())
	if err == nil && q.pack != nil {
		err = q.pack(s.w)
		if err == nil && s.half != nil {
			err = s.half()
		}
	}
	if err == nil || context.Cause(s.in.ctx) != nil {
		return s.p, err
	}
	// A server that refuses may stop reading; its message is the better error.
	if q.pack != nil {
		return s.p, err
	}
	if _, _, said := s.p.line(); said != nil && fault.CodeOf(said) != fault.Failed {
		return nil, said
	}
	return nil, err
}

// Close sends a flush, as the protocol requires at the end, and closes the connection.
func (s *stream) Close() error {
	if !s.stop() {
		return nil // the context closed it
	}
	s.w.ctx = context.Background()
	done := make(chan struct{})
	go func() { s.w.w.Write([]byte("0000")); close(done) }()
	select {
	case <-done:
	case <-time.After(100 * time.Millisecond):
	}
	err := s.shut()
	<-done
	return err
}

// tcpDialer speaks git://, which has neither encryption nor users.
type tcpDialer struct{ r *Remote }

func (d *tcpDialer) open(ctx context.Context, service string, version int) (session, error) {
	t := d.r.t
	nd := net.Dialer{Timeout: d.r.o.Connect}
	if d.r.o.Public {
		nd.Control = publicAddress
	}
	c, err := nd.DialContext(ctx, "tcp", net.JoinHostPort(t.host, cmp.Or(t.port, "9418")))
	if err != nil {
		return nil, err
	}
	s := d.r.newStream(ctx, c, c, c.Close)
	hello := service + " " + t.path + "\x00host=" + t.hostPort() + "\x00"
	if version > 0 {
		hello += fmt.Sprintf("\x00version=%d\x00", version)
	}
	w := pktWriter{w: s.w}
	if w.data([]byte(hello)); w.err != nil {
		s.shut()
		return nil, w.err
	}
	return s, nil
}

// sshDialer runs the user's ssh, which has their keys, agent and hosts.
type sshDialer struct{ r *Remote }

func (d *sshDialer) args(service string) []string {
	t := d.r.t
	if g := d.r.git; g != nil && g.variant == "simple" { // as in git: only a host and a command
		return []string{t.at(), service + " " + shellQuote(t.path)}
	}
	args := []string{"-o", "BatchMode=yes", "-o", "SendEnv=GIT_PROTOCOL", "-o", "ForwardAgent=no", "-o", "ForwardX11=no",
		"-o", "PermitLocalCommand=no", "-o", "ClearAllForwardings=yes",
		"-o", fmt.Sprintf("ConnectTimeout=%d", max(1, int(d.r.o.Connect.Seconds())))}
	if t.port != "" {
		args = append(args, "-p", t.port)
	}
	if t.user != "" {
		args = append(args, "-l", t.user)
	}
	return append(args, "--", t.host, service+" "+shellQuote(t.path))
}

// at returns user@host.
func (t target) at() string {
	if t.user == "" {
		return t.host
	}
	return t.user + "@" + t.host
}

// shellQuote quotes s as one word for the shell at the other end.
func shellQuote(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(s) + "'"
}

func (d *sshDialer) open(ctx context.Context, service string, version int) (session, error) {
	if err := d.r.resolvePublic(ctx); err != nil {
		return nil, err
	}
	program, before, environ := d.r.git.sshCommand(&d.r.o)
	cmd := exec.Command(program, append(before, d.args(service)...)...)
	cmd.Env = slices.Clone(environ)
	if version > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_PROTOCOL=version=%d", version))
	}
	said := &limitedBuffer{max: 4 << 10}
	cmd.Stderr = said
	cmd.WaitDelay = 2 * time.Second
	in, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fault.New(fault.Network, "no ssh program").Advise("install OpenSSH, or use https://")
		}
		return nil, err
	}
	p := &sshProcess{cmd: cmd, out: out}
	return d.r.newStream(ctx, &sshReader{in: in, p: p, said: said}, out, p.end), nil
}

// sshProcess ends its program once: first by closing its input, then by killing it.
type sshProcess struct {
	cmd  *exec.Cmd
	out  io.Closer
	once sync.Once
	err  error
}

func (p *sshProcess) end() error {
	p.once.Do(func() {
		p.out.Close()
		t := time.AfterFunc(2*time.Second, func() { p.cmd.Process.Kill() })
		p.err = p.cmd.Wait()
		t.Stop()
	})
	return p.err
}

// sshReader reads the output of the remote command. At its end, ssh's own message (unknown
// host key, permission denied) becomes the error.
type sshReader struct {
	in   io.Reader
	p    *sshProcess
	said *limitedBuffer
}

func (r *sshReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	if err == nil || n > 0 {
		return n, nil
	}
	if r.p.end() == nil {
		return 0, err
	}
	text := cleanText(r.said.String())
	if text == "" {
		return 0, err
	}
	return 0, sshError(text)
}

func sshError(text string) error {
	err := remoteError(strings.TrimPrefix(text, "remote: "))
	low := strings.ToLower(text)
	switch {
	case strings.Contains(low, "host key verification failed"):
		return fault.New(fault.Auth, "ssh: %s", text).Advise("connect once with ssh and check the host's key")
	case strings.Contains(low, "permission denied"):
		return fault.New(fault.Auth, "ssh: %s", text).Advise("load a key that the host accepts: ssh-add")
	case hasAny(low, "connection reset by", "connection closed by", "kex_exchange_identification"):
		return fault.New(fault.Network, "ssh: %s: %w", text, errSilence)
	}
	return err
}
