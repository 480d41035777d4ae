package aidiag

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
	"unicode"

	"netwhy/aidiag/faulttest"
	"netwhy/aidiag/internal/words"
)

// TestLinesInChinese: what the user reads of a broken AI is in the language of
// the report; what a system said stays as it was said.
func TestLinesInChinese(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fault  []faulttest.Fault
		change func(w *world)
		says   []string
	}{
		{name: "again", fault: []faulttest.Fault{faulttest.Error(500, "", "", ""), faulttest.Healthy()}, says: []string{"正在再次询问 A，第 2 次，共 6 次"}},
		{name: "refused", change: func(w *world) { w.a1.Stop() }, says: []string{"AI 无法连接（A: net_persistent", "；已由本地规则回答"}},
		{name: "silent", fault: one(faulttest.Silent()), change: func(w *world) { w.hurry() }, says: []string{"AI 无法连接（A: net_persistent: 在限定时间内没有收到回答的开头）"}},
		{name: "out of order", fault: one(faulttest.Error(500, "", "", "")), says: []string{"AI 服务故障（"}},
		{name: "key", fault: one(faulttest.Error(401, "", "", "")), says: []string{"服务 A 拒绝 $KEY_A 中的密钥（401）"}},
		{name: "credit", fault: one(faulttest.Error(402, "", "", "")), says: []string{"余额不足（402）"}},
		{name: "model", fault: one(faulttest.Error(404, "", "", "")), says: []string{"模型 m 或地址"}},
		{name: "limit", fault: one(faulttest.Error(429, "", "", "", "Retry-After: 3600")), says: []string{"请求受限，至 "}},
		{name: "portal", fault: one(faulttest.HTML(200)), says: []string{"可能是认证门户"}},
		{name: "refusal", fault: one(faulttest.Error(400, "", "content_filter", "")), says: []string{"A 拒绝回答"}},
		{name: "bad request", fault: one(faulttest.Error(400, "", "", "")), says: []string{"A 拒绝了请求（400，请求编号 无）"}},
		{name: "lies", fault: one(faulttest.Lying()), says: []string{"AI 的回答已舍弃"}},
		{name: "too large", fault: one(faulttest.Error(413, "", "", "")), says: []string{"案例超出模型容量"}},
		{name: "shortened", fault: []faulttest.Fault{faulttest.Error(413, "", "", ""), faulttest.Healthy()}, says: []string{"证据已缩短"}},
		{name: "no key", change: func(w *world) { w.deps.Getenv = func(string) string { return "" } }, says: []string{"服务 A：$KEY_A 中没有密钥"}},
		{name: "policy", change: func(w *world) {
			w.cfg.Policy = policyLocal
			w.cfg.Providers = []Provider{{Name: "openai"}}
		}, says: []string{"服务 openai：未询问：ai.policy 为 local-only"}},
		{name: "budget", change: func(w *world) { w.cfg.Budget.TokensPerRun = 10 }, says: []string{"10 个 token 的限额已用完"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.fault...)
			w.lonely(0)
			w.deps.Lang = "zh"
			if c.change != nil {
				c.change(w)
			}
			ask(t, w.run(), testCase("D1"))
			for _, want := range c.says {
				if !w.said(want) {
					t.Errorf("no %q in %v", want, w.events)
				}
			}
		})
	}
}

// TestPauseInChinese: the pause, and the end of it.
func TestPauseInChinese(t *testing.T) {
	t.Parallel()
	w := newWorld(t, faulttest.HTML(200))
	w.lonely(time.Hour)
	w.deps.Lang = "zh"
	e := w.run()
	for range 4 {
		ask(t, e, testCase("D1"))
	}
	if !w.said("AI 已暂停，至 ") || !w.said("：A 无法连接") {
		t.Errorf("lines: %v", w.events)
	}
	e.says.answer(&Answer{State: Answered})
	if !w.said("AI 恢复回答") {
		t.Errorf("lines: %v", w.events)
	}
}

// TestNobodyInChinese: without a provider too.
func TestNobodyInChinese(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cfg.Providers, w.deps.Lang = nil, "zh"
	w.deps.Getenv = func(string) string { return "" }
	w.deps.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	if a := ask(t, w.run(), testCase("D1")); a.Reason != words.In("zh").Nobody || !strings.ContainsFunc(a.Reason, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("got %q", a.Reason)
	}
}
