package custody

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"

	"github.com/rye-os/rye"
)

// Options are the surrounding program's means for work with keys, other machines or other
// programs. They are made once, with the workspace, and every room reads them.
type Options struct {
	// The signing key, and access to it.
	Key        string                 // a file's name or path, agent[:SHA256:...] or kms:<address>
	Agent      string                 // the ssh-agent's socket; "" for none
	Passphrase func() ([]byte, error) // nil when the user cannot be asked
	// KeyService signs a message with a key service; nil when there is none.
	KeyService func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)

	// Access to other machines; see store/transport.
	Token  func(host string) string
	Netrc  string        // the user's netrc file; "" for none
	Git    func() string // finds git, for its credential helpers; nil, or "" for none
	Env    []string      // for ssh and git, cleaned before use; tools get the variables that they declare
	Proxy  func(*http.Request) (*url.URL, error)
	Roots  *x509.CertPool // of tools' requests; nil is the system's
	Helper []string       // a program that reads data from outside; nil reads it here

	Interpreters map[string]string // RYE_PYTHON, RYE_NODE, ...: chosen by the user
	Path         string            // PATH for finding interpreters
	Workers      int               // executions at once, others wait in line; 0 is four for each processor, at least eight

	// Page extracts the text of a web page; nil for none.
	Page func(context.Context, rye.WebPage) ([]byte, error)

	// Self returns the program that runs builtins, which is rye, and its build. The build
	// that asks must also answer. nil when this program cannot run builtins.
	Self func() (program, build string, err error)

	// Wordless refuses a tool that may search, at once and with rye.WordlessError. A program that
	// searches words can run the tool.
	Wordless bool
}
