package custody

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// Import takes over a private key that was made elsewhere and trusts it as the user's own. A
// file is copied below rye's keys, with its passphrase. A key of an agent or a service stays
// where it is, and has to sign something before it is accepted.
func (ks *Keys) Import(ctx context.Context, q rye.KeyImportRequest) (*rye.KeyInfo, error) {
	namespaces, err := claims(q.Namespace)
	if err != nil {
		return nil, err
	}
	if Held(q.From) {
		return ks.importHeld(ctx, q, namespaces)
	}
	q.Name = cmp.Or(q.Name, "default")
	if err := checkKeyName(q.Name); err != nil {
		return nil, err
	}
	f, err := ks.foreign(q)
	if err != nil {
		return nil, err
	}
	if err := ks.mayImport(f.Key.Public()); err != nil {
		return nil, err
	}
	info := keyInfo(q.Name, ks.Path(q.Name), f.Key.Public(), namespaces)
	info.Protected = f.Protected
	if q.DryRun {
		return info, nil
	}
	if !session.SameFile(q.From, info.Path) { // a key that was put there by hand only needs trust
		if err := f.Save(info.Path); err != nil {
			return nil, err
		}
	}
	return info, ks.Claim(f.Key, filepath.Base(q.Name), namespaces...)
}

// maxSealed bounds a file that is encrypted to another key, and the file of that key.
const maxSealed = 64 << 10

// foreign reads the key of a file, and opens the file first if it is encrypted to another key.
func (ks *Keys) foreign(q rye.KeyImportRequest) (*trust.Foreign, error) {
	raw, err := place.Read(q.From, maxSealed)
	if err != nil || !bytes.HasPrefix(raw, []byte("age-encryption.org/v1\n")) && !bytes.HasPrefix(raw, []byte("-----BEGIN AGE ENCRYPTED FILE-----")) {
		return trust.ReadForeign(q.From, ks.Passphrase) // which reports the problem
	}
	if q.Identity == "" || q.Open == nil {
		return nil, fault.New(fault.Auth, "import %s: it is encrypted to another key", q.From).
			Advise("add --identity and the file of that private key, such as ~/.ssh/id_ed25519")
	}
	identity, err := trust.ReadSecret(q.Identity)
	if err != nil {
		return nil, err
	}
	text, err := q.Open(raw, identity, ks.Passphrase)
	if err != nil {
		return nil, fault.Wrap(err, "import %s", q.From)
	}
	return trust.ParseForeign(text, ks.Passphrase)
}

// importHeld claims a key of an agent or a service after it has signed a challenge: the user
// must be able to sign with it.
func (ks *Keys) importHeld(ctx context.Context, q rye.KeyImportRequest, namespaces []string) (*rye.KeyInfo, error) {
	k, err := ks.reach(ctx, q.From)
	if err != nil {
		return nil, err
	}
	if err := ks.mayImport(k.Public()); err != nil {
		return nil, err
	}
	challenge := append([]byte("rye: is this key here? "), make([]byte, 32)...)
	rand.Read(challenge[len(challenge)-32:]) // never fails since Go 1.24
	sig, err := k.Sign(ctx, challenge)
	if err != nil {
		return nil, err
	}
	if !k.Public().Verify(challenge, sig) {
		return nil, fault.New(fault.Integrity, "import key %s: it cannot sign", k.Public())
	}
	info := keyInfo(cmp.Or(q.Name, HeldName(q.From)), "", k.Public(), namespaces)
	if q.DryRun {
		return info, nil
	}
	return info, ks.Claim(k, info.Name, namespaces...)
}

// mayImport refuses a key that the user denied: an import would not make it trusted.
func (ks *Keys) mayImport(pub trust.PublicKey) error {
	st, err := trust.LoadStore(ks.host.TrustPath())
	if err != nil {
		return err
	}
	if isDenied(st, pub) {
		return fault.New(fault.Revoked, "import key %s: you denied it", pub).Mend("rye trust allow %s", pub)
	}
	return nil
}

// Export returns a key in a form for other programs, or writes it to a new file with mode
// 0600. A person has to agree before the private half is given out.
func (ks *Keys) Export(ctx context.Context, q rye.KeyExportRequest) (*rye.KeyExport, error) {
	info, err := ks.Find(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	out := &rye.KeyExport{KeyInfo: *info, Private: !q.Public, Out: q.Out}
	switch {
	case (q.Encrypt != nil || q.For != "") && (q.Public || q.PEM):
		return nil, fault.New(fault.Usage, "export key %s: only a private key in OpenSSH's format can be encrypted", info.Name)
	case q.Encrypt != nil && q.For != "":
		return nil, fault.New(fault.Usage, "export key %s: --encrypt and --for are two ways to encrypt it", info.Name).Advise("leave one out")
	case q.Encrypt != nil && q.Out == "":
		return nil, fault.New(fault.Usage, "export key %s: --encrypt needs a file", info.Name).Advise("add -o <file>")
	case !q.Public && q.Out != "":
		if err := notShared(q.Out); err != nil {
			return nil, err
		}
	}
	text, err := ks.exportText(ctx, q, info)
	if err != nil {
		return nil, err
	}
	if q.Out == "" {
		out.Text = string(text)
		return out, nil
	}
	return out, trust.WriteSecret(q.Out, text)
}

func (ks *Keys) exportText(ctx context.Context, q rye.KeyExportRequest, info *rye.KeyInfo) ([]byte, error) {
	if q.Public {
		if !q.PEM {
			return []byte(info.SSH + "\n"), nil
		}
		pub, err := trust.ParsePublicKey(info.SSH)
		if err != nil {
			return nil, err
		}
		return pub.PEM(), nil
	}
	if info.Path == "" {
		return nil, fault.New(fault.NotFound, "export key %s: rye has no file with its private key", info.Fingerprint).
			Advise("rye key export --public")
	}
	recipient, err := recipientOf(q, info)
	if err != nil {
		return nil, err
	}
	if err := ks.host.Ask(ctx, exportQuestion(q, info)); err != nil {
		return nil, err
	}
	if recipient != nil {
		text, err := trust.ReadSecret(info.Path)
		if err != nil {
			return nil, err
		}
		return q.Seal(text, recipient)
	}
	if !q.PEM && q.Encrypt == nil {
		return trust.ReadSecret(info.Path)
	}
	k, err := trust.LoadKey(info.Path, ks.Passphrase)
	if err != nil {
		return nil, err
	}
	if q.Encrypt == nil {
		return k.PKCS8()
	}
	passphrase, err := q.Encrypt()
	if err == nil && len(passphrase) == 0 {
		err = fault.New(fault.Usage, "export key %s: no passphrase was given", info.Name)
	}
	if err != nil {
		return nil, err
	}
	return k.OpenSSH("rye "+info.Name, passphrase)
}

// recipientOf reads the public key to which an export is encrypted, and tries it; nil for none. The
// exported key itself is refused: nobody who can open the file would need it.
func recipientOf(q rye.KeyExportRequest, info *rye.KeyInfo) ([]byte, error) {
	if q.For == "" {
		return nil, nil
	}
	if q.Seal == nil {
		return nil, fault.New(fault.Usage, "export key %s for %s: this program cannot encrypt to another key", info.Name, q.For)
	}
	raw, err := place.Read(q.For, maxSealed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "export key %s for %s: no such file", info.Name, q.For).Advise("name the .pub file of the other key")
	}
	if err != nil {
		return nil, fault.Wrap(err, "export key %s", info.Name)
	}
	if _, err := q.Seal(nil, raw); err != nil {
		return nil, fault.Wrap(err, "export key %s for %s", info.Name, q.For)
	}
	if pub, err := trust.ParsePublicKey(strings.TrimSpace(string(raw))); err == nil && pub.String() == info.Fingerprint {
		return nil, fault.New(fault.Usage, "export key %s for %s: it is the same key, so only who has it could read the file", info.Name, q.For).
			Advise("name the public key of the other machine or person")
	}
	return raw, nil
}

// notShared refuses a file in a git working tree or in a project: their files reach other people.
// It looks above the path as given and above the path without links.
func notShared(path string) error {
	dir := filepath.Dir(path)
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fault.New(fault.NotFound, "export the private key: no directory %s", dir)
	}
	for _, at := range []string{filepath.Clean(dir), resolved} {
		for {
			for _, mark := range []string{".git", filepath.Join(".ai", "rye.yaml")} {
				if _, err := os.Lstat(filepath.Join(at, mark)); err == nil {
					return fault.New(fault.Denied, "export the private key to %s: the file would lie in %s, whose files are shared", path, at).
						Advise("name a file outside of every repository and project")
				}
			}
			up := filepath.Dir(at)
			if up == at {
				break
			}
			at = up
		}
	}
	return nil
}

func exportQuestion(q rye.KeyExportRequest, info *rye.KeyInfo) rye.Question {
	if q.Encrypt != nil {
		return rye.Question{Topic: "export private key", Text: "Export the private key " + info.Name + "? Who has the file and its passphrase can sign as you.",
			Lines: []string{info.Fingerprint, "to " + q.Out, "encrypted with a passphrase that you type next"}, Person: true,
			Mend: fault.Advice("rye key export %s --encrypt -o <file> at a terminal", info.Name)}
	}
	if q.For != "" {
		return rye.Question{Topic: "export private key", Text: "Export the private key " + info.Name + "? The holder of the other key can sign as you.",
			Lines: []string{info.Fingerprint, "to " + cmp.Or(q.Out, "standard output"), "encrypted to " + q.For},
			Mend:  fault.Advice("rye key export %s --for <file> --yes", info.Name)}
	}
	what := "it has no passphrase"
	if info.Protected {
		what = "its passphrase still protects it"
		if q.PEM {
			what = "this format drops the passphrase that protects it"
		}
	}
	return rye.Question{Topic: "export private key", Text: "Export the private key " + info.Name + "? Its holder can sign as you.",
		Lines: []string{info.Fingerprint, "to " + cmp.Or(q.Out, "standard output"), what}, Mend: fault.Advice("rye key export %s --yes prints it", info.Name)}
}

// SetPassphrase changes the passphrase of a key file. It calls q.Ask for the new passphrase
// after the old one was given; a nil q.Ask removes the protection.
func (ks *Keys) SetPassphrase(ctx context.Context, q rye.KeyPassphraseRequest) (*rye.KeyInfo, error) {
	info, err := ks.Find(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	if info.Path == "" {
		return nil, fault.New(fault.Usage, "passphrase of key %s: rye has no file with its private key", info.Fingerprint).
			Advise("change it in the agent or service that holds the key")
	}
	if err := trust.NoLink(info.Path); err != nil {
		return nil, err
	}
	k, err := trust.LoadKey(info.Path, ks.Passphrase)
	if err != nil {
		return nil, err
	}
	var secret []byte
	if q.Ask != nil {
		if secret, err = q.Ask(); err != nil {
			return nil, err
		}
	}
	if err := k.Rewrite(info.Path, secret); err != nil {
		return nil, err
	}
	info.Protected = len(secret) > 0
	return info, ctx.Err()
}
