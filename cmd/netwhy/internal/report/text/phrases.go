package text

import "netwhy/analyze/finding"

// phrases are the words of the report that are not the rules'. One struct, so
// that a translation cannot be forgotten: exhaustruct of the test checks it.
type phrases struct {
	verdict, more                                                     string
	healthy, healthyTail, notices, noFrames                           string
	frames, oneFrame, inTime, noTime                                  string
	tcp, udp                                                          string
	truncated, truncatedTail                                          string
	leftOut, interrupted                                              string
	lostFrames, copies, reversals, gaps, oneSided, midStream, offload string
	undecoded, taken                                                  string
	sure, culprit                                                     string
	who, cost, why, time, proof, not, caution, do, next, tells, see   string
	stalled, failed, connection, connections, andMore, times          string
	frameOne, frameMany                                               string
	worst, headID, headConn, headLost, headRTT, headAgain, headEnd    string
	lookedAt, notJudged, trust, hidden                                string
	seen, seenAt, frames1, framesLast, filter, figures                string
	ai, aiRejected, agrees, otherwise, noCause, or, look              string
	state                                                             map[string]string
	severity                                                          [4]string
	party                                                             map[string]string
	part                                                              map[string]string
	end                                                               map[string]string
	vantage                                                           map[string]string
	answers, alerts, resent, resets, responses, icmpMessages          string
}

func phrasesOf(lang string) *phrases {
	if lang == "zh" {
		return chinese()
	}
	return english()
}

func (p *phrases) sev(s finding.Severity) string { return p.severity[min(int(s), len(p.severity)-1)] }

// word looks a name up and falls back to the name.
func word(m map[string]string, name string) string {
	if w, ok := m[name]; ok {
		return w
	}
	return name
}

func english() *phrases {
	return &phrases{
		verdict: "Verdict", more: "and %d more below",
		healthy:     "Healthy",
		healthyTail: "no cause of trouble found in %s",
		notices:     "; notices below: %d",
		noFrames:    "Nothing to judge: no frame was read",
		frames:      "%s frames", oneFrame: "1 frame", inTime: "%s in %s", noTime: "no times",
		tcp: "%s TCP", udp: "%s UDP conversations",
		truncated: "ends early or is damaged: frame %d at byte %d: %s.", truncatedTail: "Everything before it was read.",
		leftOut: "Not read", interrupted: "Interrupted: this is what was found so far.",
		lostFrames: "%s frames were lost before they could be captured (kernel %d, interface %d, queue %d): what looks like loss may be the capture's.",
		copies:     "%s frames are copies made by the mirror port; they are counted once",
		reversals:  "time goes back at %s frames",
		gaps:       "%s segments were acknowledged but are not in the capture",
		oneSided:   "only one direction of the traffic was captured",
		midStream:  "connections already open when the capture began: %s",
		offload:    "segments are larger than the network carries (NIC offload): the capturing host sent or received them",
		undecoded:  "%s frames have no network layer that can be read",
		taken:      "taken %s",
		sure:       "%d%% sure", culprit: "blame: %s",
		who: "Who", cost: "Cost", why: "Why", time: "Time", proof: "Proof", not: "Not", caution: "Mind", do: "Do", next: "Next", tells: "tells apart", see: "See",
		stalled: "%s lost", failed: "%d failed", connection: "1 connection", connections: "%d connections", andMore: "and %d more", times: "%s times",
		frameOne: "frame", frameMany: "frames",
		worst: "Worst connections", headID: "stream", headConn: "client → server", headLost: "lost", headRTT: "rtt", headAgain: "resent", headEnd: "end",
		lookedAt: "Looked at", notJudged: "Not judged", trust: "Trust", hidden: "below --min-severity: findings %d, diagnoses %d",
		seen: "Seen", seenAt: "%s times, from %s on, over %s", frames1: "Frames", framesLast: "(the first of them, and the last)", filter: "Filter", figures: "Figures",
		ai: "AI", aiRejected: "claims dropped, because the packets do not bear them out: %d",
		agrees: "On %s it agrees: %s", otherwise: "On %s it sees another cause: %s", noCause: "On %s it names no cause that exists; the rules' stands: %s", or: "Or", look: "Look",
		state:    map[string]string{"answered": "answered", "partial": "answered in part", "fell-back": "no answer, the rules stand", "off": "not asked"},
		severity: [4]string{"info", "notice", "warning", "critical"},
		party: map[string]string{
			"client": "client", "server": "server", "network": "network", "resolver": "resolver", "host": "host", "none": "nobody",
		},
		part: map[string]string{
			"dns": "lookup", "connect": "connect", "tls": "TLS", "client_think": "client think", "request_send": "request", "path": "path",
			"server_think": "server think", "loss_stall": "loss", "window_stall": "window", "sender_idle": "sender idle", "transfer": "transfer",
		},
		end: map[string]string{
			"open": "open", "fin": "closed", "half": "half", "reset": "reset", "refused": "refused", "no-answer": "no answer", "idle": "idle", "icmp": "ICMP",
		},
		vantage: map[string]string{"client": "at the client", "server": "at the server", "middle": "between the two"},
		answers: "DNS answers %s", responses: "HTTP responses %s", alerts: "TLS alerts %s", resent: "segments sent again %s", resets: "resets %s", icmpMessages: "ICMP messages %s",
	}
}

func chinese() *phrases {
	return &phrases{
		verdict: "结论", more: "另有 %d 项见下文",
		healthy:     "健康",
		healthyTail: "在 %s中没有发现故障原因",
		notices:     "；另有 %d 项提示见下文",
		noFrames:    "无可判断：没有读到任何帧",
		frames:      "%s 个帧", oneFrame: "1 个帧", inTime: "%s，历时 %s", noTime: "没有时间戳",
		tcp: "%s 个 TCP", udp: "%s 个 UDP 会话",
		truncated: "提前结束或已损坏：第 %d 帧，字节偏移 %d：%s。", truncatedTail: "此前的内容均已读取。",
		leftOut: "未读取", interrupted: "已中断：以下是到目前为止的发现。",
		lostFrames: "有 %s 个帧在捕获前丢失（内核 %d，网卡 %d，队列 %d）：看似丢包的现象可能是抓包造成的。",
		copies:     "%s 个帧是镜像端口产生的副本，只计一次",
		reversals:  "有 %s 个帧的时间倒退",
		gaps:       "有 %s 个报文段已被确认，但不在抓包文件中",
		oneSided:   "只捕获到单个方向的流量",
		midStream:  "抓包开始时已有 %s 个连接处于打开状态",
		offload:    "报文段大于网络可承载的长度（网卡卸载）：抓包就在收发主机上",
		undecoded:  "%s 个帧没有可读取的网络层",
		taken:      "抓包位置：%s",
		sure:       "把握 %d%%", culprit: "责任方：%s",
		who: "对象", cost: "代价", why: "原因", time: "时间", proof: "证据", not: "排除", caution: "注意", do: "处理", next: "下一步", tells: "可区分", see: "参考",
		stalled: "损失 %s", failed: "%d 次失败", connection: "1 个连接", connections: "%d 个连接", andMore: "另有 %d 个", times: "%s 次",
		frameOne: "帧", frameMany: "帧",
		worst: "最差的连接", headID: "流", headConn: "客户端 → 服务器", headLost: "损失", headRTT: "往返", headAgain: "重传", headEnd: "结束",
		lookedAt: "已检查", notJudged: "未判断", trust: "可信度", hidden: "另有 %d 个现象和 %d 个诊断低于 --min-severity",
		seen: "出现", seenAt: "%s 次，自 %s 起，历时 %s", frames1: "帧", framesLast: "（前面的若干帧和最后一帧）", filter: "过滤器", figures: "数值",
		ai: "AI", aiRejected: "没有报文依据而丢弃的说法：%d 条",
		agrees: "对 %s 看法一致：%s", otherwise: "对 %s 认为是另一原因：%s", noCause: "对 %s 没有给出已知的原因，以规则为准：%s", or: "或者", look: "查看",
		state:    map[string]string{"answered": "已回答", "partial": "部分回答", "fell-back": "没有回答，以规则为准", "off": "未询问"},
		severity: [4]string{"信息", "提示", "警告", "严重"},
		party: map[string]string{
			"client": "客户端", "server": "服务器", "network": "网络", "resolver": "DNS 解析器", "host": "主机", "none": "无",
		},
		part: map[string]string{
			"dns": "域名解析", "connect": "建立连接", "tls": "TLS 握手", "client_think": "客户端思考", "request_send": "发送请求", "path": "路径往返",
			"server_think": "服务器处理", "loss_stall": "丢包等待", "window_stall": "窗口等待", "sender_idle": "发送方空闲", "transfer": "传输",
		},
		end: map[string]string{
			"open": "未关闭", "fin": "已关闭", "half": "半关闭", "reset": "被重置", "refused": "被拒绝", "no-answer": "无应答", "idle": "空闲", "icmp": "ICMP",
		},
		vantage: map[string]string{"client": "客户端", "server": "服务器", "middle": "两者之间"},
		answers: "%s 个 DNS 应答", responses: "%s 个 HTTP 响应", alerts: "%s 个 TLS 告警", resent: "%s 个重传报文段", resets: "%s 次重置", icmpMessages: "%s 个 ICMP 报文",
	}
}
