package aidiag

import (
	"slices"
	"strings"

	"netwhy/aidiag/internal/llm"
)

// presetTable holds what is known of services by their name. Models are the
// services' own names for a small, cheap one that answers in JSON.
func presetTable() []Provider {
	return []Provider{
		{Name: "openai", Model: "gpt-4.1-mini", APIKeyEnv: "OPENAI_API_KEY", Endpoints: []string{"https://api.openai.com/v1"}, ContextTokens: 128_000},                                           //nolint:gosec // the name of a variable, no key
		{Name: "deepseek", Model: "deepseek-chat", APIKeyEnv: "DEEPSEEK_API_KEY", Endpoints: []string{"https://api.deepseek.com/v1"}, ContextTokens: 64_000},                                     //nolint:gosec // the name of a variable, no key
		{Name: "anthropic", Model: "claude-haiku-4-5", APIKeyEnv: "ANTHROPIC_API_KEY", Endpoints: []string{"https://api.anthropic.com/v1"}, Kind: string(llm.Anthropic), ContextTokens: 200_000}, //nolint:gosec // the name of a variable, no key
		{Name: "gemini", Model: "gemini-2.5-flash", APIKeyEnv: "GEMINI_API_KEY", Endpoints: []string{"https://generativelanguage.googleapis.com/v1beta/openai"}, ContextTokens: 1_000_000},       //nolint:gosec // the name of a variable, no key
		{Name: "ollama", Model: "", Endpoints: []string{"http://127.0.0.1:11434/v1"}},
		{Name: "vllm", Model: "", Endpoints: []string{"http://127.0.0.1:8000/v1"}},
		{Name: "llamacpp", Model: "default", Endpoints: []string{"http://127.0.0.1:8080/v1"}},
	}
}

func preset(name string) (Provider, bool) {
	list := presetTable()
	i := slices.IndexFunc(list, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return Provider{}, false
	}
	return list[i], true
}

// PresetNames lists the services that need only their name and a key.
func PresetNames() []string {
	var out []string
	for _, p := range presetTable() {
		if p.Model != "" {
			out = append(out, p.Name)
		}
	}
	return out
}

// filled puts in what is known of the service of this name.
func (p Provider) filled() Provider {
	if b, ok := preset(p.Name); ok {
		if p.Model == "" {
			p.Model = b.Model
		}
		if len(p.Endpoints) == 0 {
			p.Endpoints = b.Endpoints
			if p.APIKeyEnv == "" && p.APIKeyFile == "" {
				p.APIKeyEnv = b.APIKeyEnv
			}
		}
		if p.Kind == "" {
			p.Kind = b.Kind
		}
		if p.ContextTokens == 0 && p.Model == b.Model {
			p.ContextTokens = b.ContextTokens
		}
	}
	if p.Kind == "" {
		p.Kind = string(llm.OpenAI)
		if strings.Contains(strings.Join(p.Endpoints, " "), ".openai.azure.com") {
			p.Kind = string(llm.Azure)
		}
	}
	return p
}

func (p Provider) keyIsPreset(b Provider) bool {
	return b.APIKeyEnv != "" && p.APIKeyEnv == b.APIKeyEnv
}

// sameHosts reports whether a key of the preset may go to these endpoints. A key
// belongs to the hosts it was made for. Loopback is the user's own proxy.
func (p Provider) sameHosts(b Provider) bool {
	home, err := llm.ParseBase(b.Endpoints[0], false)
	if err != nil {
		return false
	}
	for _, raw := range p.Endpoints {
		u, err := llm.ParseBase(raw, p.AllowHTTPPrivate)
		if err == nil && u.Host != home.Host && !u.Local {
			return false
		}
	}
	return true
}

// Discover finds providers in the environment: keys of known services in their
// usual variables, an Azure resource, an Ollama host. Keys are not copied; only
// the names of their variables are.
func Discover(getenv func(string) string) []Provider {
	var out []Provider
	for _, b := range presetTable() {
		if b.APIKeyEnv == "" || getenv(b.APIKeyEnv) == "" {
			continue
		}
		p := Provider{Name: b.Name}
		if b.Name == "openai" {
			if base := getenv("OPENAI_BASE_URL"); base != "" {
				p.Endpoints, p.APIKeyEnv, p.Name = []string{base}, b.APIKeyEnv, "openai-compatible"
				p.Model = b.Model
			}
			if m := getenv("OPENAI_MODEL"); m != "" {
				p.Model = m
			}
		}
		out = append(out, p.filled())
	}
	if base, key := getenv("AZURE_OPENAI_ENDPOINT"), "AZURE_OPENAI_API_KEY"; base != "" && getenv(key) != "" {
		model := getenv("AZURE_OPENAI_DEPLOYMENT")
		if model == "" {
			model = "gpt-4.1-mini"
		}
		out = append(out, Provider{
			Name: "azure", Model: model, APIKeyEnv: key, Endpoints: []string{base}, Kind: string(llm.Azure), APIVersion: getenv("OPENAI_API_VERSION"),
		}.filled())
	}
	if host := getenv("OLLAMA_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		if u, err := llm.ParseBase(strings.Replace(host, "0.0.0.0", "127.0.0.1", 1), false); err == nil {
			model := getenv("OLLAMA_MODEL")
			if model == "" {
				model = "llama3.2"
			}
			out = append(out, Provider{Name: "ollama", Model: model, Endpoints: []string{strings.TrimSuffix(u.URL, "/v1") + "/v1"}}.filled())
		}
	}
	return out
}

// localServers are asked on loopback when nothing is configured: who listens
// there and lists its models is used.
func localServers() []Provider {
	var out []Provider
	for _, p := range presetTable() {
		if p.APIKeyEnv == "" {
			out = append(out, p.filled())
		}
	}
	return out
}
