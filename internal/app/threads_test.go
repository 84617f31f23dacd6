package app

import (
	"slices"
	"testing"
)

// TestThreadEnv: the process of a thread gets what its tools' network settings come from, and no
// key of a service.
func TestThreadEnv(t *testing.T) {
	got := threadEnv([]string{"HOME=/h", "HTTPS_PROXY=http://p:1", "all_proxy=http://p:1", "PIP_INDEX_URL=http://m/", "PIP_CONFIG_FILE=/h/pip.conf", "XDG_CONFIG_HOME=/h/c",
		"OPENAI_API_KEY=x", "GITHUB_TOKEN=x", "NODE_OPTIONS=x", "GIT_SSH_COMMAND=x", "PIP_NO_INDEX=1"})
	want := []string{"HOME=/h", "HTTPS_PROXY=http://p:1", "all_proxy=http://p:1", "PIP_INDEX_URL=http://m/", "PIP_CONFIG_FILE=/h/pip.conf", "XDG_CONFIG_HOME=/h/c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
