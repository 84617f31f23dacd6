package origin

import (
	"bytes"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/store"
)

// upstream is a commit of another repository. store.ParseCommit reads the commits that rye makes,
// and refuses headers that other programs write; this reader takes them.
type upstream struct {
	tree    store.OID
	parents []store.OID
	signed  []byte // the bytes that the signature covers; nil without one
	armor   string // of the signature
}

// readCommit reads the headers of a commit that reachability and signatures need. It takes other
// headers as they are.
func readCommit(raw []byte) (*upstream, error) {
	bad := func(why string) (*upstream, error) { return nil, fault.New(fault.Malformed, "commit: %s", why) }
	c := &upstream{}
	author := false
	for at := 0; ; {
		end := bytes.IndexByte(raw[at:], '\n')
		if end < 0 {
			return bad("no blank line before the message")
		}
		line, begin := raw[at:at+end], at
		at += end + 1
		if len(line) == 0 {
			break
		}
		for at < len(raw) && raw[at] == ' ' { // continued
			more := bytes.IndexByte(raw[at:], '\n')
			if more < 0 {
				return bad("a header does not end")
			}
			line, at = raw[begin:at+more], at+more+1
		}
		name, value, _ := strings.Cut(string(line), " ")
		switch {
		case begin == 0:
			id, err := store.ParseOID(value)
			if name != "tree" || err != nil {
				return bad("it does not begin with a tree")
			}
			c.tree = id
		case name == "parent" && !author:
			id, err := store.ParseOID(value)
			if err != nil || len(c.parents) == store.MaxCommitParents {
				return bad("a parent cannot be read, or there are too many")
			}
			c.parents = append(c.parents, id)
		case name == "gpgsig":
			if c.armor != "" {
				return bad("two signatures")
			}
			c.armor = strings.ReplaceAll(value, "\n ", "\n")
			c.signed = append(bytes.Clone(raw[:begin]), raw[at:]...)
		default:
			author = author || name == "author"
		}
	}
	if c.tree.IsZero() {
		return bad("it has no tree")
	}
	return c, nil
}

// signatures are the beginnings of the signatures that git knows.
var signatures = []string{"-----BEGIN SSH SIGNATURE-----", "-----BEGIN PGP SIGNATURE-----", "-----BEGIN PGP MESSAGE-----", "-----BEGIN SIGNED MESSAGE-----"}

// tagSignature splits a tag as git does: the signature is the text from the last line on that begins
// one.
func tagSignature(raw []byte) (signed []byte, armor string) {
	begin := -1
	for at := 0; at < len(raw); {
		for _, s := range signatures {
			if bytes.HasPrefix(raw[at:], []byte(s)) {
				begin = at
			}
		}
		end := bytes.IndexByte(raw[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	if begin < 0 {
		return nil, ""
	}
	return raw[:begin], string(raw[begin:])
}

// signer verifies the signature of a commit or a tag. other names a kind of signature that rye does
// not verify. A signature that is not valid is an error: no honest repository has one.
func signer(signed []byte, armor string) (key trust.UpstreamKey, other string, err error) {
	switch {
	case armor == "":
		return "", "", nil
	case !strings.HasPrefix(armor, signatures[0]):
		kind := strings.TrimSuffix(strings.TrimPrefix(words.FirstLine(armor), "-----BEGIN "), "-----")
		return "", words.Brief(kind), nil
	}
	key, err = trust.VerifyUpstream(strings.TrimRight(armor, "\n"), signed)
	return key, "", err
}
