package daemon

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestRoutesOfTheHostAreReadFromTheKernelsTable(t *testing.T) {
	const head = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
	for name, tt := range map[string]struct {
		table string
		want  []string
		bad   bool
	}{
		"empty":         {"", nil, false},
		"headings only": {head, nil, false},
		"default route is none": {
			head + "eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", nil, false,
		},
		"a network and a bridge": {
			head + "eth0\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n" +
				"docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n",
			[]string{"192.168.2.0/24", "172.17.0.0/16"}, false,
		},
		"a mask within a byte": {
			head + "tun0\t0000400A\t00000000\t0001\t0\t0\t0\t0000C0FF\t0\t0\t0\n", []string{"10.64.0.0/10"}, false,
		},
		"one host":            {head + "eth0\t0100007F\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n", []string{"127.0.0.1/32"}, false},
		"a line cut short":    {head + "eth0\t0002A8C0\n", nil, false},
		"no hexadecimal":      {head + "eth0\t0002A8CZ\t0\t1\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", nil, true},
		"an address too long": {head + "eth0\t0002A8C000\t0\t1\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", nil, true},
		"a mask too short":    {head + "eth0\t0002A8C0\t0\t1\t0\t0\t0\tFFFF\t0\t0\t0\n", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseRoutes([]byte(tt.table))
			if tt.bad {
				if err == nil || !strings.Contains(err.Error(), "cannot be read") {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want []netip.Prefix
			for _, p := range tt.want {
				want = append(want, netip.MustParsePrefix(p))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestTheFactsOfThisBootStayTheSame(t *testing.T) {
	first, err := facts(t.Context())
	if err != nil {
		t.Skipf("this system tells no boot id: %v", err)
	}
	second, err := facts(t.Context())
	if err != nil || first != second || first.BootID == "" {
		t.Errorf("first %+v, then %+v, %v", first, second, err)
	}
	if strings.ContainsAny(first.BootID+first.EngineStart, "\n ") {
		t.Errorf("facts with white space: %+v", first)
	}
}
