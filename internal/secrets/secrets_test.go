package secrets

import "testing"

func TestNamed(t *testing.T) {
	for _, p := range []string{".env", "./.env", "a/../.env", ".env/", ".ENV", ".env.local", "app/prod.env", `a\.env`, "/home/ann/.ssh/config", ".ssh", ".aws/config", "x/.kube/config",
		"server.pem", "tls/server.key", "id_rsa", "id_ed25519", "a/id_work", ".netrc", ".npmrc", ".pypirc", "credentials", "credentials.json", "secrets.yaml", "token", "github.token",
		"prod.tfvars", "store.jks", ".git-credentials", ".docker/config.json"} {
		if !Named(p) {
			t.Errorf("%q is taken for harmless", p)
		}
	}
	for _, p := range []string{"", ".", "a.go", "environment", ".environment", "env", ".env.example", ".env.sample", "id_rsa.pub", "id_map.py", "keys.go", "key", "tokens.go", "tokenizer.json",
		"credentials.go", "docs/secrets.md", "monkey", "package.json", "src/ssh/client.go", "awsx/a"} {
		if Named(p) {
			t.Errorf("%q is taken for a secret", p)
		}
	}
}
