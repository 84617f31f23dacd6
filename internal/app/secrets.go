package app

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
)

// secretsFile, in the configuration directory, binds secrets to hosts (docs/format/secrets.md).
const secretsFile = "secrets.yaml"

// bound holds the hosts that may receive a secret, and the variable that holds it.
type bound struct {
	Hosts []string `yaml:"hosts"`
	Env   string   `yaml:"env"`
}

// known are the default bindings.
var known = map[string]bound{
	"ANTHROPIC_API_KEY": {Hosts: []string{"api.anthropic.com"}},
	"OPENAI_API_KEY":    {Hosts: []string{"api.openai.com"}},
}

// Secrets are the user's secrets, each bound to the hosts that may receive it. They are in the
// environment, or in a file that Open decrypts; only rye-engine sets Open.
type Secrets struct {
	App  *App
	Open func(file, identity []byte, passphrase func() ([]byte, error)) (map[string]string, error)
}

// Secret returns a secret for a host ("name:port"), if the user bound it to that host. A
// project cannot bind a secret: a secret that it names goes only to the user's hosts.
func (s Secrets) Secret(_ context.Context, name, host string) (string, error) {
	bindings, err := s.bindings()
	if err != nil {
		return "", err
	}
	b, ok := bindings.Secrets[name]
	if !ok {
		return "", fault.New(fault.Auth, "secret %s: it is bound to no host", name).
			Advise("bind it in %s: secrets: {%s: {hosts: [%s]}}", filepath.Join(s.App.Config, secretsFile), name, host)
	}
	if !slices.ContainsFunc(b.Hosts, func(h string) bool { return sameHost(h, host) }) {
		return "", fault.New(fault.Denied, "secret %s is for %s, not for %s", name, strings.Join(b.Hosts, ", "), host)
	}
	variable := b.Env
	if variable == "" {
		variable = name
	}
	if v := s.App.getenv(variable); v != "" {
		return v, nil
	}
	if bindings.File != "" && s.Open != nil {
		all, err := s.sealed(bindings)
		if err != nil {
			return "", err
		}
		if v := all[name]; v != "" {
			return v, nil
		}
	}
	return "", fault.New(fault.Auth, "secret %s for %s: the variable %s is not set", name, host, variable).
		Advise("export %s=…, or use the scripted model: --provider rye/agent/providers/mock", variable)
}

// sealed reads the encrypted file.
func (s Secrets) sealed(doc *secretsDoc) (map[string]string, error) {
	read := func(name string) ([]byte, error) {
		if name == "" {
			return nil, nil
		}
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.App.Config, name)
		}
		raw, err := place.Read(path, maxSecrets)
		if err == nil {
			err = place.Owned(path)
		}
		if err != nil {
			return nil, fault.New(fault.Auth, "%s: %w", path, err)
		}
		return raw, nil
	}
	file, err := read(doc.File)
	if err != nil {
		return nil, err
	}
	identity, err := read(doc.Identity)
	if err != nil {
		return nil, err
	}
	return s.Open(file, identity, func() ([]byte, error) {
		return s.App.ReadSecret(s.App.ctx, "passphrase of "+doc.File)
	})
}

// sameHost compares a host in a binding with host. The default port of a binding is 443.
func sameHost(bound, host string) bool {
	if _, _, err := net.SplitHostPort(bound); err != nil {
		bound = net.JoinHostPort(bound, "443")
	}
	return strings.EqualFold(bound, host)
}

// maxSecrets bounds the file in bytes.
const maxSecrets = 1 << 20

// Host refuses a host for models ("name:port") that the user has not named, either for a
// secret or in the list of hosts without one.
func (s Secrets) Host(host string) error {
	f, err := s.bindings()
	if err != nil {
		return err
	}
	hosts := f.Hosts
	for _, b := range f.Secrets {
		hosts = append(hosts, b.Hosts...)
	}
	if slices.ContainsFunc(hosts, func(h string) bool { return sameHost(h, host) }) {
		return nil
	}
	return fault.New(fault.Denied, "models at %s: you have not allowed this host, and a thread would send it everything that it reads", host).
		Advise("allow it in %s: hosts: [%s]", filepath.Join(s.App.Config, secretsFile), host)
}

// secretsDoc is the file.
type secretsDoc struct {
	Hosts    []string         `yaml:"hosts"`    // of models without a secret
	File     string           `yaml:"file"`     // encrypted with age; "" for none
	Identity string           `yaml:"identity"` // decrypts File; "" asks for a passphrase
	Secrets  map[string]bound `yaml:"secrets"`
}

func (s Secrets) bindings() (*secretsDoc, error) {
	all := &secretsDoc{Secrets: maps.Clone(known)}
	if s.App.Config == "" {
		return all, nil
	}
	path := filepath.Join(s.App.Config, secretsFile)
	raw, err := place.Read(path, maxSecrets)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = place.Owned(path)
	}
	if err != nil {
		return nil, fault.New(fault.Auth, "%s: %w", path, err)
	}
	var file secretsDoc
	if err := objects.DecodeYAML(raw, maxSecrets, &file); err != nil {
		return nil, fault.New(fault.Malformed, "%s: %w", path, err)
	}
	all.Hosts, all.File, all.Identity = file.Hosts, file.File, file.Identity
	maps.Copy(all.Secrets, file.Secrets)
	return all, nil
}
