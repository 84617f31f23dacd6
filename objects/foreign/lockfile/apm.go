package lockfile

import (
	"path"
	"strings"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
)

// readAPM reads apm.lock.yaml, versions 1 and 2 (OpenAPM 0.1, section 5; apm 0.28.0).
func readAPM(raw []byte) (*Lock, error) {
	v, err := objects.YAMLValue(raw, MaxSize)
	if err != nil {
		return nil, err
	}
	top, ok := mapping(v)
	if !ok {
		return nil, fault.New(fault.Malformed, "want a mapping")
	}
	l := &Lock{Tool: APM, Version: top.number("lockfile_version")}
	if l.Version != "1" && l.Version != "2" {
		return nil, newer(l.Version, "1 and 2")
	}
	items, err := top.items("dependencies")
	if err != nil {
		return nil, err
	}
	if len(items) > MaxEntries {
		return nil, fault.New(fault.Limit, "%d entries, at most %d are read", len(items), MaxEntries)
	}
	top.knows("generated_at", "apm_version", "deployments", "local_deployed_files", "local_deployed_file_hashes", "attestations")
	for _, name := range []string{"mcp_servers", "mcp_configs", "lsp_servers", "lsp_configs"} {
		if full(top.get(name)) {
			l.Passed = append(l.Passed, name)
		}
	}
	l.Unknown = top.leftover()
	seen := map[string]bool{}
	for _, item := range items {
		e := Entry{}
		f, ok := mapping(item)
		if !ok {
			e.Name = "?"
			e.refuse("its entry is no mapping")
			l.Entries = append(l.Entries, e)
			continue
		}
		apmEntry(f, &e)
		if f.wrong != "" {
			e.refuse("its field " + f.wrong + " is malformed")
		}
		l.Unknown += f.leftover()
		if key := e.Name + "\x00" + e.Source.String(); e.Why == "" && seen[key] {
			continue
		} else {
			seen[key] = true
		}
		l.Entries = append(l.Entries, e)
	}
	return l, nil
}

func full(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// apmAdds are the types of packages into which APM writes files of its own before it computes
// content_hash.
var apmAdds = map[string]bool{"marketplace_plugin": true}

func apmEntry(f *fields, e *Entry) {
	f.knows("version", "depth", "resolved_by", "target_subset", "deployed_files", "deployed_file_hashes", "deployed_skills", "exec_status",
		"constraint", "resolved_at", "declared_license", "is_dev", "discovered_via", "marketplace_plugin_name", "allow_insecure",
		"declaring_parent", "attestations", "resolved_url", "resolved_hash")
	repo, name, dir := f.str("repo_url"), f.str("name"), f.str("virtual_path")
	e.Name = repo
	if dir != "" {
		e.Name += "/" + dir
	} else if repo == "" {
		e.Name = name
	}
	if as := f.str("materialization_repo_url"); as != "" && strings.EqualFold(as, repo) {
		repo = as // the same repository as its host writes it
	}
	kind, ref, commit := f.str("package_type"), f.str("resolved_ref"), f.str("resolved_commit")
	if tag := f.str("resolved_tag"); tag != "" {
		ref = tag
	}
	host, port, local, anchored := f.str("host"), f.number("port"), f.str("local_path"), f.str("anchored_local_path")
	content, tree, virtual := f.str("content_hash"), f.str("tree_sha256"), f.yes("is_virtual")
	insecure, proxied := f.yes("is_insecure"), f.str("registry_prefix")
	e.Skills = f.list("skill_subset")
	switch source := f.str("source"); {
	case source == "local":
		if anchored != "" {
			local = anchored
		}
		e.inside(local)
	case source != "":
		e.refuse("it comes from an APM registry, which rye does not read")
		return
	case proxied != "":
		e.refuse("it comes through a proxy of packages, which rye does not read")
		return
	case insecure:
		e.refuse("its address is http, without encryption")
		return
	case repo == "":
		e.refuse("its repo_url is missing")
		return
	case commit != "" && !(len(commit) == 40 && objects.CommitID(commit)):
		e.refuse("its resolved_commit is no id of a commit")
		return
	default:
		if strings.EqualFold(ref, commit) {
			ref = ""
		}
		skills := e.Skills
		e.from(apmAddress(repo, host, port), ref, strings.Trim(dir, "/"))
		if e.Why == "" && virtual && path.Ext(dir) != "" {
			up := e.Source
			if up.Path = path.Dir(up.Path); up.Path == "." {
				up.Path = ""
			}
			if up.Ref = commit; commit == "" {
				up.Ref = ref
			}
			e.refuse("it is one file of a repository")
			e.Try = up.String()
			return
		}
		if e.Why != "" {
			return
		}
		e.Commit, e.Skills = commit, skills
	}
	if e.Why != "" {
		return
	}
	if tree != "" {
		e.Sums = append(e.Sums, Sum{TreeSHA256, envelope(tree)})
	}
	switch {
	case content == "":
	case apmAdds[kind]:
		e.Note = append(e.Note, "content_hash covers files that APM adds to a plugin, so rye does not compare it")
	default:
		e.Sums = append(e.Sums, Sum{ContentHash, envelope(content)})
	}
}

// apmAddress returns the address of a repository. Without a host, the first part of repo_url is one
// if it holds a dot, else the host is github.com.
func apmAddress(repo, host, port string) string {
	if strings.Contains(repo, "://") || strings.HasPrefix(repo, "git@") {
		return repo
	}
	if host == "" {
		if first, _, _ := strings.Cut(repo, "/"); strings.Contains(first, ".") {
			return "https://" + repo
		}
		host = "github.com"
	}
	if port != "" {
		host += ":" + port
	}
	return "https://" + host + "/" + repo
}

// envelope adds the algorithm to a bare digest, as version 1 allows it.
func envelope(s string) string {
	if !strings.Contains(s, ":") {
		return "sha256:" + s
	}
	return s
}
