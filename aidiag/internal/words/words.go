// Package words holds the lines that people read of the AI, in each language of
// the reports: reasons, notices, and what the screen shows while it is asked.
// What a system or a provider said stands in them as it was said.
package words

import (
	"strings"

	"netwhy/aidiag/internal/llm"
)

// Words are the lines of one language; those with verbs are formats.
type Words struct {
	// While it is asked.
	Again  string // provider, attempt, of how many
	Back   string // it answers behind a fall back
	ByRule string // behind a reason on the screen

	// Why the rules stand alone.
	Nobody      string
	NotAsked    string // nothing to ask about
	Own         string // our own connection
	Busy        string
	Interrupted string
	NoMore      string // cases came behind the end
	TooLong     string
	TooLarge    string
	Internal    string
	InternalAt  string // provider
	Unreachable string // detail
	OutOfOrder  string // detail
	NoAnswer    string // detail
	Limited     string // " until hh:mm:ss", or ""
	Paused      string // the same, what holds each provider
	Until       string // hh:mm:ss
	OfCases     string // number, of how many, reason
	Requests    string // limit an hour
	Tokens      string // limit a run
	Discarded   string
	Claims      string // number of claims

	// What holds a provider back: its name.
	HeldNet, HeldRate, HeldKey, HeldCredit, HeldModel, HeldWait string
	HeldOwnNet, Held                                            string
	Join                                                        string

	// What has to be mended, or known.
	WantsKey      string // provider, status
	RejectsKey    string // provider, where the key is, status
	NoCredit      string // provider, status
	NotFound      string // model, base URL, provider, status
	NotTrusted    string // host
	NoAPI         string // host
	Misconfigured string // provider, fault
	Provider      string // provider, fault
	NoKey         string // name of the variable
	LocalOnly     string
	BehindLocal   string // provider, local provider
	Declined      string // provider
	Refused       string // provider, status, request id
	NoID          string
	Shortened     string
	Holds         string // severity
	Injection     string
	InFrame       string // frame
	InFrames      string // frames

	// In the diagnosis of a model.
	Caveat   string
	CouldBe  string    // cause, why
	Severity [4]string // least first

	causes map[string]string // what our own limits say, where that is not English
}

// Cause translates what one of our own limits said; what others said stays.
func (w *Words) Cause(said string) string {
	if own, ok := w.causes[said]; ok {
		return own
	}
	return said
}

// In returns the lines of a language; English where there are none.
func In(lang string) *Words {
	if strings.HasPrefix(lang, "zh") {
		return chinese()
	}
	return english()
}

func english() *Words {
	return &Words{ //nolint:gosec // lines about keys, no key
		Again:  "asking %s again, %d of %d",
		Back:   "AI answers again",
		ByRule: "; answered by local rules",

		Nobody:      "no AI provider is set up: set OPENAI_API_KEY or DEEPSEEK_API_KEY, or name a provider in the configuration file (netwhy config check tells what works)",
		NotAsked:    "nothing to ask about",
		Own:         "netwhy's own connection to the AI: not asked about",
		Busy:        "AI busy",
		Interrupted: "interrupted",
		NoMore:      "no more cases are taken",
		TooLong:     "AI took too long",
		TooLarge:    "the case does not fit the model, not even by half",
		Internal:    "internal fault while asking",
		InternalAt:  "internal fault while asking %s",
		Unreachable: "AI unreachable (%s)",
		OutOfOrder:  "AI out of order (%s)",
		NoAnswer:    "AI gave no answer: %s",
		Limited:     "rate limited%s",
		Paused:      "AI paused%s: %s",
		Until:       " until %s",
		OfCases:     "%d of %d cases answered by local rules: %s",
		Requests:    "the budget of %d requests an hour is used up (ai.budget.requests_per_hour)",
		Tokens:      "the run's budget of %d tokens is used up (ai.budget.tokens_per_run)",
		Discarded:   "AI answer discarded (not supported by the capture)",
		Claims:      "%d of the AI's claims discarded (not supported by the capture)",

		HeldNet: "%s unreachable", HeldRate: "%s rate limited", HeldKey: "%s rejects the key", HeldCredit: "%s without credit",
		HeldModel: "%s does not know the model", HeldWait: "%s asked to wait", HeldOwnNet: "own network down", Held: "unreachable", Join: ", ",

		WantsKey:      "provider %s wants a key (%d); name it with api_key_env or api_key_file",
		RejectsKey:    "provider %s rejects the key in %s (%d)",
		NoCredit:      "provider %s: no credit left (%d); asked again in an hour",
		NotFound:      "model %s or base URL %s unknown at provider %s (%d)",
		NotTrusted:    "certificate of %s not trusted (interception?)",
		NoAPI:         "%s does not speak the API (captive portal or wrong base URL?)",
		Misconfigured: "provider %s: configuration: %s",
		Provider:      "provider %s: %s",
		NoKey:         "no key in $%s: export it, or name another with api_key_env",
		LocalOnly:     "not asked: ai.policy is local-only",
		BehindLocal:   "provider %s is not asked: it stands behind the local provider %s; put it first to use it",
		Declined:      "%s declined to answer",
		Refused:       "request refused by %s (%d, request id %s)",
		NoID:          "none",
		Shortened:     "evidence shortened: the whole did not fit the model",
		Holds:         "the AI holds this for %s",
		Injection:     "instruction-like text was found in the capture (possible prompt injection)",
		InFrame:       ", frame %s",
		InFrames:      ", frames %s",

		Caveat:   "AI: wording unverified, evidence checked",
		CouldBe:  "It could also be %s: %s",
		Severity: [4]string{"info", "notice", "warning", "critical"},
	}
}

func chinese() *Words {
	return &Words{ //nolint:gosec // lines about keys, no key
		Again:  "正在再次询问 %s，第 %d 次，共 %d 次",
		Back:   "AI 恢复回答",
		ByRule: "；已由本地规则回答",

		Nobody:      "未配置 AI 服务：请设置 OPENAI_API_KEY 或 DEEPSEEK_API_KEY，或在配置文件中写明服务（netwhy config check 可检查是否可用）",
		NotAsked:    "没有需要询问的内容",
		Own:         "netwhy 自身与 AI 的连接：不予询问",
		Busy:        "AI 繁忙",
		Interrupted: "已中断",
		NoMore:      "不再接受新的案例",
		TooLong:     "AI 用时过长",
		TooLarge:    "案例超出模型容量，减半后仍然如此",
		Internal:    "询问时发生内部错误",
		InternalAt:  "询问 %s 时发生内部错误",
		Unreachable: "AI 无法连接（%s）",
		OutOfOrder:  "AI 服务故障（%s）",
		NoAnswer:    "AI 没有回答：%s",
		Limited:     "请求受限%s",
		Paused:      "AI 已暂停%s：%s",
		Until:       "，至 %s",
		OfCases:     "%[2]d 个案例中有 %[1]d 个由本地规则回答：%[3]s",
		Requests:    "每小时 %d 次请求的限额已用完（ai.budget.requests_per_hour）",
		Tokens:      "本次运行 %d 个 token 的限额已用完（ai.budget.tokens_per_run）",
		Discarded:   "AI 的回答已舍弃（抓包数据不支持）",
		Claims:      "AI 的 %d 条陈述被舍弃（抓包数据不支持）",

		HeldNet: "%s 无法连接", HeldRate: "%s 请求受限", HeldKey: "%s 拒绝密钥", HeldCredit: "%s 余额不足",
		HeldModel: "%s 没有该模型", HeldWait: "%s 要求等待", HeldOwnNet: "本机网络不通", Held: "无法连接", Join: "，",

		WantsKey:      "服务 %s 需要密钥（%d）；请用 api_key_env 或 api_key_file 指明",
		RejectsKey:    "服务 %s 拒绝 %s 中的密钥（%d）",
		NoCredit:      "服务 %s：余额不足（%d）；一小时后再询问",
		NotFound:      "模型 %s 或地址 %s 在服务 %s 上不存在（%d）",
		NotTrusted:    "%s 的证书不受信任（可能被拦截）",
		NoAPI:         "%s 不是该 API（可能是认证门户，或地址有误）",
		Misconfigured: "服务 %s：配置错误：%s",
		Provider:      "服务 %s：%s",
		NoKey:         "$%s 中没有密钥：请导出该变量，或用 api_key_env 指明另一个",
		LocalOnly:     "未询问：ai.policy 为 local-only",
		BehindLocal:   "未询问服务 %s：它排在本地服务 %s 之后；如需使用，请排在前面",
		Declined:      "%s 拒绝回答",
		Refused:       "%s 拒绝了请求（%d，请求编号 %s）",
		NoID:          "无",
		Shortened:     "证据已缩短：全部内容超出模型容量",
		Holds:         "AI 认为严重程度为：%s",
		Injection:     "抓包数据中有类似指令的文字（可能是提示词注入）",
		InFrame:       "，第 %s 帧",
		InFrames:      "，帧 %s",

		Caveat:   "AI：措辞未经核实，证据已核对",
		CouldBe:  "也可能是 %s：%s",
		Severity: [4]string{"信息", "提示", "警告", "严重"},

		causes: map[string]string{
			llm.ErrTTFB.Error():    "在限定时间内没有收到回答的开头",
			llm.ErrIdle.Error():    "回答中断，不再有数据到达",
			llm.ErrAttempt.Error(): "超出单次请求的时限",
			llm.ErrEmpty.Error():   "回答没有内容",
		},
	}
}
