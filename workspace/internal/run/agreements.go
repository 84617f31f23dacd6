package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/chain"
	"github.com/rye-os/rye/chain/consent"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/locks"
	"github.com/rye-os/rye/workspace/internal/questions"
)

// ConsentFile is the name of the file, in the configuration directory, with the user's consent
// to unsigned things.
const ConsentFile = "consent.yaml"

func consentPath(s *custody.Desk) string { return s.UserFile(ConsentFile) }

// agreed reads the user's agreements.
func agreed(s *custody.Desk) (consent.Agreed, error) {
	if err := place.Trusted(consentPath(s)); err != nil {
		return consent.Agreed{}, fault.Wrap(err, "read agreements")
	}
	raw, err := place.Read(consentPath(s), consent.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return consent.Agreed{}, nil
	}
	if err != nil {
		return consent.Agreed{}, fault.Wrap(err, "read agreements")
	}
	a, err := consent.Parse(raw)
	if err != nil {
		return a, fault.Wrap(err, "read %s", consentPath(s))
	}
	return a, nil
}

// remember changes the file of agreements.
func remember(ctx context.Context, s *custody.Desk, with func(consent.Agreed) consent.Agreed) error {
	return rewrite(ctx, s, ConsentFile, func() ([]byte, error) {
		a, err := agreed(s)
		if err != nil {
			return nil, err
		}
		return with(a).Encode()
	})
}

// rewrite replaces a file of the user's configuration, one process at a time. text returns the
// new content, and is called under the lock.
func rewrite(ctx context.Context, s *custody.Desk, name string, text func() ([]byte, error)) error {
	if err := s.NeedConfig(); err != nil {
		return err
	}
	if err := os.MkdirAll(s.ConfigDir, 0o700); err != nil {
		return err
	}
	path := s.UserFile(name)
	unlock, err := place.Lock(ctx, path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	raw, err := text()
	if err != nil {
		return err
	}
	return place.File(path, raw, 0o600)
}

// placeOf returns the part of an agreement about its directory: the place of the project, and
// nothing for the user space.
func placeOf(s *custody.Desk, dir string) consent.Place {
	if s.Project == nil || dir != s.ProjectDir {
		return consent.Place{}
	}
	return questions.Here(s.Session)
}

// withAll adds an agreement to each thing.
func withAll(a consent.Agreed, things []consent.Thing) consent.Agreed {
	for _, t := range things {
		var salt [16]byte
		rand.Read(salt[:])
		a = a.With(t, salt)
	}
	return a
}

// Consent remembers that the user lets a tool use .env files, the project's interpreter,
// environment variables or patches. This is for the tool's present bytes and the present content
// of those things. With q.Forget it takes the consent back.
func Consent(ctx context.Context, s *custody.Desk, q rye.PolicyConsentRequest) ([]rye.ConsentReport, error) {
	things, err := requested(ctx, s, q)
	if err != nil {
		return nil, err
	}
	a, err := agreed(s)
	if err != nil {
		return nil, err
	}
	var all []rye.ConsentReport
	for _, t := range things {
		c := rye.ConsentReport{Ref: q.Ref.String(), What: t.What, Path: t.Path, SHA256: t.Sum.String(), Status: "allowed",
			Names: slices.Sorted(maps.Keys(t.Parts)), Changed: a.Changed(t)}
		if q.Forget {
			c.Status, c.Changed = "forgotten", nil
		}
		if t.Sum.IsZero() {
			c.SHA256 = ""
		}
		all = append(all, c)
	}
	return all, remember(ctx, s, func(a consent.Agreed) consent.Agreed {
		if !q.Forget {
			return withAll(a, things)
		}
		for _, t := range things {
			a = a.Without(t)
		}
		return a
	})
}

// requested collects the things of a request. A requested kind without any is NotFound.
func requested(ctx context.Context, s *custody.Desk, q rye.PolicyConsentRequest) (things []consent.Thing, err error) {
	if q.Forget && (q.Patched || len(q.Hosts) > 0) { // an item that is gone, or cannot run any more, still has its agreements
		if q.Patched {
			things = append(things, consent.Thing{What: consent.Patched, Path: q.Ref.String(), In: placeOf(s, s.ProjectDir)})
		}
		own, rest, err := agreedHosts(s, q)
		if err != nil {
			return nil, err
		}
		hosts, err := namedHosts(s, rest)
		if err != nil {
			return nil, err
		}
		if things = slices.Concat(things, own, hosts); !q.Env && !q.Interpreter && !q.Secrets {
			return things, nil
		}
		q.Patched, q.Hosts = false, nil
	}
	plan, err := locks.Plan(ctx, s.Session, q.Ref)
	if err != nil {
		return nil, err
	}
	none := func(format string, args ...any) ([]consent.Thing, error) {
		return nil, fault.New(fault.NotFound, "%s: "+format, append([]any{plan.Tool().Ref}, args...)...)
	}
	own, rest, err := connectThings(s, plan, q.Hosts)
	if err != nil {
		return nil, err
	}
	hosts, err := namedHosts(s, rest)
	if err != nil {
		return nil, err
	}
	things = slices.Concat(things, own, hosts)
	if q.Patched {
		patched := chain.PatchedOf(plan).Ungranted()
		if len(patched) == 0 {
			return none("no part of it is a patch that needs your approval")
		}
		things = append(things, patchedThing(s, q.Ref, plan, patched))
	}
	declared := strings.Join(plan.Declares(), " ")
	var env envFiles
	if q.Env || q.Secrets {
		if env, err = readEnvFiles(s, plan); err != nil {
			return nil, err
		}
	}
	if q.Env {
		if things = append(things, env.things...); len(env.things) == 0 {
			return none("no .env file sets a variable that it declares [%s]", declared)
		}
	}
	if q.Secrets {
		t := secretsOf(s, plan, env.vars)
		if t == nil {
			return none("it sends no environment variable that needs your approval (it declares [%s])", declared)
		}
		things = append(things, *t)
	}
	if q.Interpreter {
		p, t, err := interpreterOf(s, plan)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return none("it runs with no interpreter of the project (%s)", cmp.Or(p.Path, "none"))
		}
		things = append(things, *t)
	}
	return things, nil
}
