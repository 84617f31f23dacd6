// Package secrets knows which files usually hold secrets, by their names alone. A model
// should not read these unasked, although they lie in the project. A name proves nothing
// either way; the list is there to ask, and the sandbox keeps files that must not be read
// out of reach.
package secrets

import (
	"path"
	"strings"
)

// files are patterns of path.Match for the last name of a path, in lower case.
var files = []string{
	".env", ".env.*", "*.env", ".envrc", ".netrc", "_netrc", ".npmrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".dockercfg",
	".dockerconfigjson", ".vault-token", ".boto", ".s3cfg", ".terraformrc", "credentials", "credentials.*", "secret", "secrets", "secret.*", "secrets.*",
	"token", "tokens", "*.token", "auth.json", "service-account*.json", "service_account*.json", "kubeconfig", "*.kubeconfig", "*.tfvars", "*.tfstate",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg", "id_*", "ssh_host_*_key",
}

// folders are directories that hold mostly such files.
var folders = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud", "gcloud", ".password-store"}

// open are endings of public files: examples, public halves of keys, code.
var open = []string{".example", ".sample", ".template", ".dist", ".defaults", ".pub", ".go", ".py", ".js", ".ts", ".rs", ".java", ".rb", ".c", ".h", ".md", ".sh"}

// Named reports whether the path of a file or directory, with slashes of either kind, has a
// name that usually means secrets.
func Named(p string) bool {
	p = path.Clean(strings.ToLower(strings.ReplaceAll(p, `\`, "/")))
	for name := range strings.SplitSeq(p, "/") {
		for _, f := range folders {
			if name == f {
				return true
			}
		}
	}
	base := path.Base(p)
	for _, end := range open {
		if strings.HasSuffix(base, end) {
			return false
		}
	}
	for _, pattern := range files {
		if ok, _ := path.Match(pattern, base); ok {
			return true
		}
	}
	return false
}
