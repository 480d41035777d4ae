package html

// phrases are the words of the page that are not the rules'. Those with a JSON
// name are used by the page's script.
type phrases struct {
	Lang                                                                       string
	Title, Healthy, Notices, NoFrames, Skip, Theme, Print                      string
	Contents, Diagnoses, Traffic, Connections, Findings, Capture               string
	Frames, Interrupted, LeftOut, Truncated, Dropped                           string
	Blame, Sure, Cost, Lost, Failed, Touched                                   string
	Why, Proof, Not, Mind, Do, Next, See, Time, Who, Filter, Copy, Evidence    string
	Ladder, LadderAlt, AsTable, Frame, At, From, To, What, Skipped, NoPictures string
	TrafficAlt, PerStep, NotJudged, Trust, Counters, Numbers, Hidden, More, AI string
	Agrees, Otherwise, NoCause, Or, Look, Rejected, Vantage, Copies, Reversals string
	Gaps, OneSided, MidStream, Offload, Sender, Receiver                       string
	Severity                                                                   [4]string
	Party, Part, End                                                           map[string]string
	Script                                                                     scriptPhrases
}

// scriptPhrases go to the page's script.
type scriptPhrases struct {
	Filter   string            `json:"filter"`
	Of       string            `json:"of"` // "{n} of {all} shown"
	More     string            `json:"more"`
	Copied   string            `json:"copied"`
	OnlyBad  string            `json:"onlyBad"`
	Sequence string            `json:"sequence"`
	RTT      string            `json:"rtt"`
	Rate     string            `json:"rate"`
	Window   string            `json:"window"`
	Seconds  string            `json:"seconds"`
	Client   string            `json:"client"`
	Server   string            `json:"server"`
	Sent     string            `json:"sent"`
	Again    string            `json:"again"`
	Acked    string            `json:"acked"`
	Allowed  string            `json:"allowed"`
	Flight   string            `json:"flight"`
	Win      string            `json:"win"`
	None     string            `json:"none"`
	Zoom     string            `json:"zoom"`
	Frame    string            `json:"frame"`
	Column   map[string]string `json:"column"`
}

func phrasesOf(lang string) *phrases {
	if lang == "zh" {
		return chinese()
	}
	return english()
}

func word(m map[string]string, name string) string {
	if w, ok := m[name]; ok {
		return w
	}
	return name
}

func english() *phrases {
	return &phrases{
		Lang: "en", Title: "netwhy report", Healthy: "Healthy: no cause of trouble found", Notices: "; notices below: %d", NoFrames: "Nothing to judge: no frame was read",
		Skip: "Skip to the diagnoses", Theme: "Light or dark", Print: "Print",
		Contents: "Contents", Diagnoses: "Diagnoses", Traffic: "Traffic over time", Connections: "Connections", Findings: "Findings", Capture: "The capture",
		Frames: "%d frames", Interrupted: "Interrupted: this is what was found so far.", LeftOut: "Not read",
		Truncated: "The file ends early or is damaged: frame %d at byte %d: %s. Everything before it was read.",
		Dropped:   "%d frames were lost before they could be captured: what looks like loss may be the capture's.",
		Blame:     "Blame", Sure: "%d%% sure", Cost: "Cost", Lost: "%s lost", Failed: "%d failed", Touched: "connections: %d",
		Why: "Why", Proof: "Proof", Not: "Not", Mind: "Mind", Do: "Do", Next: "Next", See: "See", Time: "Where the time went", Who: "Who",
		Filter: "Wireshark filter", Copy: "Copy", Evidence: "Evidence file",
		Ladder: "What happened, frame by frame", LadderAlt: "Sequence diagram of %d frames between %s. The table below it has the same.",
		AsTable: "The same as a table", Frame: "Frame", At: "Time", From: "From", To: "To", What: "What", Skipped: "… %d between",
		NoPictures: "The connections have no pictures, because the source cannot be read a second time (standard input or a live capture).",
		TrafficAlt: "Bytes over time, %s in all; below it one bar for each diagnosis.", PerStep: "bytes in each %s",
		NotJudged: "Not judged", Trust: "Trust", Counters: "Counters", Numbers: "Frame and stream numbers are Wireshark's.",
		Hidden: "Below --min-severity: findings %d, diagnoses %d.", More: "and %d more", AI: "AI",
		Agrees: "agrees on %s", Otherwise: "sees another cause than %s", NoCause: "names no cause that exists; that of %s stands", Or: "Or", Look: "Look", Rejected: "claims dropped, because the packets do not bear them out: %d",
		Vantage: "taken at: %s", Copies: "%d frames are copies made by a mirror port; counted once", Reversals: "time goes back at %d frames",
		Gaps: "%d segments were acknowledged but are not in the capture", OneSided: "only one direction was captured",
		MidStream: "connections already open when the capture began: %d", Offload: "segments are larger than the network carries (offload): taken on an end",
		Severity: [4]string{"info", "notice", "warning", "critical"},
		Party:    map[string]string{"none": "nobody"},
		Part: map[string]string{
			"dns": "lookup", "connect": "connect", "tls": "TLS", "client_think": "client think", "request_send": "request", "path": "path",
			"server_think": "server think", "loss_stall": "loss", "window_stall": "window", "sender_idle": "sender idle", "transfer": "transfer",
		},
		End: map[string]string{"fin": "closed", "half": "half closed", "no-answer": "no answer", icmp: "ICMP error"},
		Script: scriptPhrases{
			Filter: "Filter: words that a row must have", Of: "{n} of {all}", More: "Show {n} more", Copied: "Copied", OnlyBad: "only diagnosed",
			Sequence: "Bytes sent over time, {who}", RTT: "Round trip", Rate: "Throughput", Window: "Window and bytes in flight", Seconds: "s",
			Client: "client", Server: "server", Sent: "sent", Again: "sent again", Acked: "acknowledged", Allowed: "window ends", Flight: "in flight", Win: "window",
			None: "none in this capture", Zoom: "drag to zoom, double click to reset", Frame: "frame",
			Column: map[string]string{
				"stream": "Stream", "client": "Client", "server": "Server", "name": "Name", "app": "Protocol", "start": "Start s", "duration": "Duration s",
				"lost": "Lost s", "rtt": "RTT ms", "resent": "Resent", "bytes": "Bytes", "end": "End", "diagnosis": "Diagnosis", "ja4": "JA4", "community": "Community ID",
				"id": "Id", "code": "Symptom", "severity": "Severity", "where": "Where", "count": "Times", "frames": "Frames", "figures": "Figures",
			},
		},
	}
}

func chinese() *phrases {
	return &phrases{
		Lang: "zh", Title: "netwhy 报告", Healthy: "健康：没有发现故障原因", Notices: "；另有 %d 项提示见下文", NoFrames: "无可判断：没有读到任何帧",
		Skip: "跳到诊断", Theme: "明暗切换", Print: "打印",
		Contents: "目录", Diagnoses: "诊断", Traffic: "流量随时间的变化", Connections: "连接", Findings: "现象", Capture: "抓包文件",
		Frames: "%d 个帧", Interrupted: "已中断：以下是到目前为止的发现。", LeftOut: "未读取",
		Truncated: "文件提前结束或已损坏：第 %d 帧，字节偏移 %d：%s。此前的内容均已读取。",
		Dropped:   "有 %d 个帧在捕获前丢失：看似丢包的现象可能是抓包造成的。",
		Blame:     "责任方", Sure: "把握 %d%%", Cost: "代价", Lost: "损失 %s", Failed: "%d 次失败", Touched: "涉及 %d 个连接",
		Why: "原因", Proof: "证据", Not: "排除", Mind: "注意", Do: "处理", Next: "下一步", See: "参考", Time: "时间花在哪里", Who: "对象",
		Filter: "Wireshark 过滤器", Copy: "复制", Evidence: "证据文件",
		Ladder: "逐帧经过", LadderAlt: "%d 个帧的时序图，参与者：%s。下方表格内容相同。",
		AsTable: "以表格显示", Frame: "帧", At: "时间", From: "来源", To: "目标", What: "内容", Skipped: "… 其间 %d 帧",
		NoPictures: "没有连接的图，因为来源无法再次读取（标准输入或实时抓包）。",
		TrafficAlt: "字节数随时间的变化，历时 %s；下方每个诊断一条。", PerStep: "每 %s 的字节数",
		NotJudged: "未判断", Trust: "可信度", Counters: "计数", Numbers: "帧号与流号同 Wireshark。",
		Hidden: "另有 %d 个现象和 %d 个诊断低于 --min-severity。", More: "另有 %d 个", AI: "AI",
		Agrees: "对 %s 看法一致", Otherwise: "对 %s 认为是另一原因", NoCause: "没有给出已知的原因，以 %s 的规则为准", Or: "或者", Look: "查看", Rejected: "没有报文依据而丢弃的说法：%d 条",
		Vantage: "抓包位置：%s", Copies: "%d 个帧是镜像端口的副本，只计一次", Reversals: "有 %d 个帧的时间倒退",
		Gaps: "有 %d 个报文段已被确认，但不在抓包文件中", OneSided: "只捕获到单个方向",
		MidStream: "抓包开始时已有 %d 个连接处于打开状态", Offload: "报文段大于网络可承载的长度（网卡卸载）：抓包就在收发主机上",
		Severity: [4]string{"信息", "提示", "警告", "严重"},
		Party:    map[string]string{"client": "客户端", "server": "服务器", "network": "网络", "resolver": "DNS 解析器", "host": "主机", "none": "无", "middle": "两者之间"},
		Part: map[string]string{
			"dns": "域名解析", "connect": "建立连接", "tls": "TLS 握手", "client_think": "客户端思考", "request_send": "发送请求", "path": "路径往返",
			"server_think": "服务器处理", "loss_stall": "丢包等待", "window_stall": "窗口等待", "sender_idle": "发送方空闲", "transfer": "传输",
		},
		End: map[string]string{
			"open": "未关闭", "fin": "已关闭", "half": "半关闭", "reset": "被重置", "refused": "被拒绝", "no-answer": "无应答", "idle": "空闲", icmp: "ICMP 错误",
		},
		Script: scriptPhrases{
			Filter: "过滤：每行须含的词", Of: "显示 {n} / {all}", More: "再显示 {n} 个", Copied: "已复制", OnlyBad: "仅显示已诊断的",
			Sequence: "已发送字节随时间的变化，{who}", RTT: "往返时间", Rate: "吞吐量", Window: "窗口与在途字节", Seconds: "秒",
			Client: "客户端", Server: "服务器", Sent: "已发送", Again: "重传", Acked: "已确认", Allowed: "窗口上沿", Flight: "在途", Win: "窗口",
			None: "此抓包中没有", Zoom: "拖动放大，双击还原", Frame: "帧",
			Column: map[string]string{
				"stream": "流", "client": "客户端", "server": "服务器", "name": "名称", "app": "协议", "start": "开始 秒", "duration": "时长 秒",
				"lost": "损失 秒", "rtt": "往返 毫秒", "resent": "重传", "bytes": "字节", "end": "结束", "diagnosis": "诊断", "ja4": "JA4", "community": "Community ID",
				"id": "编号", "code": "现象", "severity": "级别", "where": "位置", "count": "次数", "frames": "帧", "figures": "数值",
			},
		},
	}
}
