package network

// kind says how a value is read.
type kind int

const (
	proxy       kind = iota // the address of a proxy
	curlProxy               // the same, for curl alone
	gitProxy                // the same, for git alone
	bypass                  // hosts that are reached without a proxy
	flag                    // 1
	mirrors                 // addresses of mirrors
	trusted                 // hosts that need no TLS, as far as they are pip's mirrors
	modules                 // addresses, direct and off (GOPROXY)
	sums                    // a database of checksums (GOSUMDB)
	patterns                // paths of modules
	bundle                  // a file of certificates
	directories             // directories of certificates
)

// row is one setting that tools can get.
type row struct {
	env     string // the variable, of the user and of tools; "" for none
	kind    kind
	public  string // the host that a mirror stands for
	program string // the program whose files may have it; "" for none
	key     string // its name there
}

// rows is everything that tools can get. The names and their meaning are from these pages:
//
//   - curl: everything.curl.dev/usingcurl/proxies/env, curl.se/docs/sslcerts.html, curl(1) --config
//   - pip: pip.pypa.io/en/stable/topics/configuration, and pip's configuration.py for the order
//   - npm: docs.npmjs.com/cli/using-npm/config, and loadEnv in @npmcli/config
//   - Go: go.dev/ref/mod#environment-variables, go.googlesource.com/proposal 30411-env
//   - Node: nodejs.org/learn/http/enterprise-network-configuration, nodejs.org/api/cli.html
//   - git: git-config(1) http.proxy, http.sslCAInfo, GIT_CONFIG_COUNT
//   - OpenSSL and Go: SSL_CERT_FILE, SSL_CERT_DIR (openssl-env(7), crypto/x509)
//   - requests: requests.readthedocs.io/en/latest/user/advanced/#ssl-cert-verification
var rows = []row{
	{env: "http_proxy", kind: proxy},
	{env: "HTTP_PROXY", kind: proxy},
	{env: "https_proxy", kind: proxy},
	{env: "HTTPS_PROXY", kind: proxy},
	{env: "all_proxy", kind: proxy},
	{env: "ALL_PROXY", kind: proxy},
	{env: "no_proxy", kind: bypass},
	{env: "NO_PROXY", kind: bypass},
	{env: "NODE_USE_ENV_PROXY", kind: flag},
	{env: "NODE_USE_SYSTEM_CA", kind: flag},

	{env: "SSL_CERT_FILE", kind: bundle},
	{env: "SSL_CERT_DIR", kind: directories},
	{env: "REQUESTS_CA_BUNDLE", kind: bundle},
	{env: "CURL_CA_BUNDLE", kind: bundle, program: "curl", key: "cacert"},
	{env: "NODE_EXTRA_CA_CERTS", kind: bundle},
	{env: "GIT_SSL_CAINFO", kind: bundle, program: "git", key: "http.sslcainfo"},
	{env: "PIP_CERT", kind: bundle, program: "pip", key: "cert"},
	{env: "npm_config_cafile", kind: bundle, program: "npm", key: "cafile"},

	{kind: curlProxy, program: "curl", key: "proxy"},
	{kind: gitProxy, program: "git", key: "http.proxy"},
	{env: "PIP_PROXY", kind: proxy, program: "pip", key: "proxy"},
	{env: "npm_config_proxy", kind: proxy, program: "npm", key: "proxy"},
	{env: "npm_config_https_proxy", kind: proxy, program: "npm", key: "https-proxy"},
	{env: "npm_config_noproxy", kind: bypass, program: "npm", key: "noproxy"},

	{env: "PIP_INDEX_URL", kind: mirrors, public: "pypi.org", program: "pip", key: "index-url"},
	{env: "PIP_EXTRA_INDEX_URL", kind: mirrors, public: "pypi.org", program: "pip", key: "extra-index-url"},
	{env: "PIP_TRUSTED_HOST", kind: trusted, public: "pypi.org", program: "pip", key: "trusted-host"},
	{env: "npm_config_registry", kind: mirrors, public: "registry.npmjs.org", program: "npm", key: "registry"},
	{env: "GOPROXY", kind: modules, public: "proxy.golang.org", program: "go", key: "GOPROXY"},
	{env: "GOSUMDB", kind: sums, public: "proxy.golang.org", program: "go", key: "GOSUMDB"},
	{env: "GOPRIVATE", kind: patterns, public: "proxy.golang.org", program: "go", key: "GOPRIVATE"},
	{env: "GONOPROXY", kind: patterns, public: "proxy.golang.org", program: "go", key: "GONOPROXY"},
	{env: "GONOSUMDB", kind: patterns, public: "proxy.golang.org", program: "go", key: "GONOSUMDB"},
}

// places are the variables that say where files with settings are.
var places = []string{"PIP_CONFIG_FILE", "npm_config_userconfig", "GOENV", "GIT_CONFIG_GLOBAL", "CURL_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"}

// proxies reports whether a row is about proxies.
func (r row) proxies() bool {
	switch r.kind {
	case proxy, curlProxy, gitProxy, bypass:
		return true
	}
	return r.env == "NODE_USE_ENV_PROXY"
}

func (r row) name() string {
	if r.env != "" {
		return r.env
	}
	return r.program + " " + r.key
}
