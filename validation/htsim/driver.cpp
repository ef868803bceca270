// Runs a list of flows through htsim's transports and prints when each flow's last byte reached its receiver.
//
// htsim is a library with one main() per experiment; none of them takes flows with sizes and starts for DCTCP, TCP and Swift, and all
// of them measure at the sender. This driver builds a dumbbell or a two-tier tree from htsim's queues and pipes, one path per pair of
// hosts, and starts htsim's sources. It changes nothing in htsim: it sets public members where both simulators must have the same rule.
//
// Usage: driver KEY=VALUE...   (see `struct Settings`); the flows come from standard input, one per line: NAME FROM TO START_PS SIZE_B.
// Sizes are multiples of the payload of a packet: htsim sends full packets only.
// Output: "flow NAME SECONDS" for each finished flow, then "run unfinished=N wall_s=S packet_hops=N memory_bytes=N drops=N".

#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dctcp.h"
#include "ecnqueue.h"
#include "eventlist.h"
#include "hpcc.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "queue_lossless_input.h"
#include "queue_lossless_output.h"
#include "roce.h"
#include "swift.h"
#include "swift_scheduler.h"
#include "switch.h"
#include "tcp.h"

namespace {

// All settings, with their units. Times are in picoseconds, sizes in bytes, rates in bit/s.
struct Settings {
    std::string algorithm = "swift";    // swift, dctcp, tcp, hpcc or roce
    std::string topology = "dumbbell";  // dumbbell (s1.. - left - right - d1..) or tree (h1.. - leaf1.. - spine1)
    int hosts = 8;                      // dumbbell: pairs; tree: hosts per leaf
    int leaves = 4;                     // tree: leaves
    uint64_t rate = 10000000000;        // of hosts' links
    uint64_t fabric_rate = 10000000000; // of links between switches
    uint64_t delay = 5000000;           // of each link, one way
    uint64_t end = 10000000000000;      // of the run
    int packet = 1500;                  // htsim's packet size: wire bytes for TCP and Swift, payload (plus 64) for HPCC and RoCE
    uint64_t buffer = 1000000000;       // largest queue of a switch's port, with the packet on the transmitter
    uint64_t mark = 45000;              // ECN threshold
    uint64_t xoff = 100000, xon = 97000;  // lossless: pause and resume thresholds of a switch's ingress
    int window = 10;                    // initial window in packets (swift, dctcp, tcp)
    uint64_t base_target = 25000000;    // swift: target beyond the path's own round-trip time
    uint64_t fs_range = 100000000;      // swift: flow scaling
    double fs_min = 0.1, fs_max = 100;  // swift: windows between which it acts, in packets
    uint64_t base_rtt = 0;              // hpcc: T
    uint64_t w_ai = 80;                 // hpcc: additive increase
};

uint64_t packet_hops = 0;

// A link's propagation delay; counts what passes.
class CountingPipe : public Pipe {
  public:
    CountingPipe(simtime_picosec delay, EventList& events) : Pipe(delay, events) {}
    void receivePacket(Packet& packet) override {
        packet_hops++;
        Pipe::receivePacket(packet);
    }
};

// One direction of a link: the queue at its beginning, the pipe, and (lossless only) the ingress queue of the switch at its end.
struct Port {
    BaseQueue* queue = nullptr;
    Pipe* pipe = nullptr;
    LosslessInputQueue* ingress = nullptr;
    uint64_t rate = 0;
    bool host = false;
};

struct Flow {
    std::string name, from, to;
    uint64_t start = 0, size = 0, finish = 0;
};

int unfinished = 0;

void arrived(Flow& flow, uint64_t bytes) {
    if (flow.finish == 0 && bytes >= flow.size) {
        flow.finish = EventList::now();
        unfinished--;
    }
}

// htsim's sinks, which tell when the last byte is there.
class WatchedSwift : public SwiftSink {
  public:
    explicit WatchedSwift(Flow& flow) : _flow(flow) {}
    void receivePacket(Packet& packet) {
        SwiftSink::receivePacket(packet);
        arrived(_flow, _cumulative_data_ack);
    }
    Flow& _flow;
};
class WatchedTcp : public TcpSink {
  public:
    explicit WatchedTcp(Flow& flow) : _flow(flow) { _cumulative_ack = 1; }
    void open() { _cumulative_ack = 1; }
    void receivePacket(Packet& packet) {
        TcpSink::receivePacket(packet);
        arrived(_flow, _cumulative_ack - 1);
    }
    Flow& _flow;
};
class WatchedHpcc : public HPCCSink {
  public:
    explicit WatchedHpcc(Flow& flow) : _flow(flow) {}
    void receivePacket(Packet& packet) {
        HPCCSink::receivePacket(packet);
        arrived(_flow, _cumulative_ack);
    }
    Flow& _flow;
};
class WatchedRoce : public RoceSink {
  public:
    explicit WatchedRoce(Flow& flow) : _flow(flow) {}
    void receivePacket(Packet& packet) {
        RoceSink::receivePacket(packet);
        arrived(_flow, _cumulative_ack);
    }
    Flow& _flow;
};

// Calls a function at a time.
class At : public EventSource {
  public:
    At(EventList& events, simtime_picosec when, std::function<void()> what) : EventSource(events, "at"), _what(std::move(what)) {
        events.sourceIsPending(*this, when);
    }
    void doNextEvent() override { _what(); }
    std::function<void()> _what;
};

class Net {
  public:
    Net(const Settings& settings, EventList& events) : _s(settings), _events(events) {
        if (lossless()) {
            LosslessInputQueue::_high_threshold = settings.xoff;
            LosslessInputQueue::_low_threshold = settings.xon;
        }
        if (settings.topology == "dumbbell") {
            link("left", "right", settings.fabric_rate, false);
            for (int i = 1; i <= settings.hosts; i++) {
                link("s" + std::to_string(i), "left", settings.rate, true);
                link("d" + std::to_string(i), "right", settings.rate, true);
            }
        } else {
            for (int leaf = 1; leaf <= settings.leaves; leaf++) {
                std::string name = "leaf" + std::to_string(leaf);
                link(name, "spine1", settings.fabric_rate, false);
                for (int i = 1; i <= settings.hosts; i++)
                    link("h" + std::to_string((leaf - 1) * settings.hosts + i), name, settings.rate, true);
            }
        }
    }

    // The nodes from one host to another: the only way in a tree.
    std::vector<std::string> path(const std::string& from, const std::string& to) const {
        std::map<std::string, std::string> before;
        std::vector<std::string> todo{from};
        before[from] = from;
        for (size_t i = 0; i < todo.size(); i++)
            for (const std::string& next : _neighbours.at(todo[i]))
                if (!before.count(next)) {
                    before[next] = todo[i];
                    todo.push_back(next);
                }
        std::vector<std::string> nodes{to};
        while (nodes.back() != from) nodes.push_back(before.at(nodes.back()));
        return {nodes.rbegin(), nodes.rend()};
    }

    Route* route(const std::vector<std::string>& nodes) {
        Route* route = new Route();
        for (size_t i = 0; i + 1 < nodes.size(); i++) {
            Port& port = _ports.at(nodes[i] + ">" + nodes[i + 1]);
            route->push_back(port.queue);
            route->push_back(port.pipe);
            if (port.ingress) route->push_back(port.ingress);
        }
        return route;
    }

    // Time of a full packet there and an acknowledgement back without any queue.
    uint64_t base_rtt(const std::vector<std::string>& nodes, int packet, int ack) const {
        uint64_t time = 0;
        for (size_t i = 0; i + 1 < nodes.size(); i++)
            time += 2 * _s.delay + uint64_t(packet + ack) * 8 * 1000000 / (_ports.at(nodes[i] + ">" + nodes[i + 1]).rate / 1000000);
        return time;
    }

    HostQueue* host(const std::string& name) { return dynamic_cast<HostQueue*>(_hosts.at(name)); }

    int drops() const {
        int sum = 0;
        for (const auto& port : _ports)
            if (Queue* queue = dynamic_cast<Queue*>(port.second.queue)) sum += queue->num_drops();
        return sum;
    }

  private:
    bool lossless() const { return _s.algorithm == "hpcc" || _s.algorithm == "roce"; }

    BaseQueue* nic(uint64_t rate) {
        if (_s.algorithm == "swift") return new FairScheduler(rate, _events, nullptr);
        return new FairPriorityQueue(rate, 1000000000, _events, nullptr);
    }
    BaseQueue* port(uint64_t rate) {
        if (_s.algorithm == "dctcp") return new ECNQueue(rate, _s.buffer, _events, nullptr, _s.mark);
        if (lossless()) return new LosslessOutputQueue(rate, _s.buffer, _events, nullptr, 0, 0);
        return new Queue(rate, _s.buffer, _events, nullptr);
    }
    void link(const std::string& a, const std::string& b, uint64_t rate, bool a_is_host) {
        direction(a, b, rate, a_is_host, false);
        direction(b, a, rate, false, a_is_host);
    }
    void direction(const std::string& from, const std::string& to, uint64_t rate, bool from_host, bool to_host) {
        Port made;
        made.rate = rate;
        made.queue = from_host ? nic(rate) : port(rate);
        made.pipe = new CountingPipe(_s.delay, _events);
        if (from_host) _hosts[from] = made.queue;
        if (lossless() && !to_host) {
            if (!_switches.count(to)) _switches[to] = new Switch(_events, to);
            made.ingress = new LosslessInputQueue(_events, made.queue, _switches[to], _s.delay);
        }
        _ports[from + ">" + to] = made;
        _neighbours[from].push_back(to);
    }

    const Settings& _s;
    EventList& _events;
    std::map<std::string, Port> _ports;
    std::map<std::string, std::vector<std::string>> _neighbours;
    std::map<std::string, BaseQueue*> _hosts;
    std::map<std::string, Switch*> _switches;
};

void start_swift(const Settings& s, EventList& events, Net& net, Flow& flow, SwiftRtxTimerScanner& scanner) {
    auto nodes = net.path(flow.from, flow.to);
    SwiftSrc* source = new SwiftSrc(scanner, nullptr, nullptr, events);
    auto* sink = new WatchedSwift(flow);
    uint64_t base = net.base_rtt(nodes, s.packet, SwiftAck::ACKSIZE);
    source->_base_delay = base + s.base_target;  // both simulators: the path's own round-trip time and an allowance, no count of hops
    source->_h = 0;
    source->_fs_range = s.fs_range;
    source->_fs_min_cwnd = s.fs_min;
    source->_fs_max_cwnd = s.fs_max;
    source->_fs_alpha = double(s.fs_range) / (1 / sqrt(s.fs_min) - 1 / sqrt(s.fs_max));
    source->_fs_beta = -source->_fs_alpha / sqrt(s.fs_max);
    source->_max_cwnd = uint32_t(double(s.rate) / 8e12 * double(source->_base_delay));
    source->_min_cwnd = s.packet / 100;
    source->_flow_size = flow.size;
    source->connect(*net.route(nodes), *net.route({nodes.rbegin(), nodes.rend()}), *sink, flow.start);
    source->set_cwnd(s.window * s.packet);
}

void start_tcp(const Settings& s, EventList& events, Net& net, Flow& flow, TcpRtxTimerScanner& scanner) {
    auto nodes = net.path(flow.from, flow.to);
    TcpSrc* source = s.algorithm == "dctcp" ? new DCTCPSrc(nullptr, nullptr, events) : new TcpSrc(nullptr, nullptr, events);
    auto* sink = new WatchedTcp(flow);
    Route* there = net.route(nodes);
    Route* back = net.route({nodes.rbegin(), nodes.rend()});
    there->push_back(sink);
    back->push_back(source);
    source->_flow_size = flow.size - s.packet;  // it sends up to two packets beyond `_flow_size`
    source->_cwnd = s.window * s.packet;
    source->_ssthresh = 0xffffffff;
    source->_rto = timeFromMs(250);  // htsim's least timeout
    scanner.registerTcp(*source);
    source->connect(*there, *back, *sink, s.end);  // never: the flow begins with an open connection, below
    sink->open();
    new At(events, flow.start, [source] {
        source->_established = true;
        source->_highest_sent = source->_last_acked = 1;
        source->send_packets();
    });
}

template <class Source, class Sink>
void start_lossless(EventList& events, Net& net, Flow& flow, Source* source, Sink* sink) {
    auto nodes = net.path(flow.from, flow.to);
    Route* there = net.route(nodes);
    Route* back = net.route({nodes.rbegin(), nodes.rend()});
    there->push_back(sink);
    back->push_back(source);
    source->set_flowsize(flow.size);
    source->set_dst(1);
    sink->set_src(1);
    net.host(flow.from)->addHostSender(source);
    source->connect(there, back, *sink, TRIGGER_START);
    new At(events, flow.start, [source] { source->startflow(); });
}

bool assign(Settings& s, const std::string& key, const std::string& value) {
    std::map<std::string, std::string*> texts{{"algorithm", &s.algorithm}, {"topology", &s.topology}};
    std::map<std::string, int*> ints{{"hosts", &s.hosts}, {"leaves", &s.leaves}, {"packet", &s.packet}, {"window", &s.window}};
    std::map<std::string, uint64_t*> longs{
        {"rate", &s.rate},   {"fabric_rate", &s.fabric_rate}, {"delay", &s.delay},       {"end", &s.end},
        {"buffer", &s.buffer}, {"mark", &s.mark},             {"xoff", &s.xoff},         {"xon", &s.xon},
        {"w_ai", &s.w_ai},   {"base_target", &s.base_target}, {"fs_range", &s.fs_range}, {"base_rtt", &s.base_rtt}};
    std::map<std::string, double*> doubles{{"fs_min", &s.fs_min}, {"fs_max", &s.fs_max}};
    if (texts.count(key)) *texts[key] = value;
    else if (ints.count(key)) *ints[key] = std::stoi(value);
    else if (longs.count(key)) *longs[key] = std::stoull(value);
    else if (doubles.count(key)) *doubles[key] = std::stod(value);
    else return false;
    return true;
}

// Peak resident memory of this process in bytes (Linux).
unsigned long long peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmHWM:") {
            status >> word;
            return std::stoull(word) * 1024;
        }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    Settings s;
    for (int i = 1; i < count; i++) {
        std::string text = arguments[i];
        size_t equals = text.find('=');
        if (equals == std::string::npos || !assign(s, text.substr(0, equals), text.substr(equals + 1))) {
            fprintf(stderr, "driver: %s: unknown setting\n", arguments[i]);
            return 2;
        }
    }
    std::vector<std::unique_ptr<Flow>> flows;
    for (Flow flow; std::cin >> flow.name >> flow.from >> flow.to >> flow.start >> flow.size;)
        flows.emplace_back(new Flow(flow));
    unfinished = int(flows.size());
    std::cout.setstate(std::ios_base::failbit);  // htsim's own messages

    std::clock_t begin = std::clock();
    EventList& events = EventList::getTheEventList();
    events.setEndtime(s.end);
    Packet::set_packet_size(s.packet);
    Net net(s, events);
    SwiftRtxTimerScanner swift_scanner(s.end / 2, events);  // nothing is lost in the Swift cases: timeouts are off
    TcpRtxTimerScanner tcp_scanner(timeFromMs(1), events);
    for (auto& flow : flows) {
        if (s.algorithm == "swift") start_swift(s, events, net, *flow, swift_scanner);
        else if (s.algorithm == "dctcp" || s.algorithm == "tcp") start_tcp(s, events, net, *flow, tcp_scanner);
        else if (s.algorithm == "roce")
            start_lossless(events, net, *flow, new RoceSrc(nullptr, nullptr, events, s.rate), new WatchedRoce(*flow));
        else {
            HPCCSrc::_T = s.base_rtt;
            auto* source = new HPCCSrc(nullptr, nullptr, events, s.rate);
            HPCCSrc::_Wai = s.w_ai;  // the constructor sets it to a packet
            start_lossless(events, net, *flow, source, new WatchedHpcc(*flow));
        }
    }
    while (unfinished > 0 && events.doNextEvent()) {
    }
    double wall = double(std::clock() - begin) / CLOCKS_PER_SEC;  // one thread: on an idle machine it is the time that passes
    for (auto& flow : flows)
        if (flow->finish) printf("flow %s %.12f\n", flow->name.c_str(), double(flow->finish - flow->start) / 1e12);
    printf("run unfinished=%d wall_s=%.3f packet_hops=%llu memory_bytes=%llu drops=%d\n", unfinished, wall,
           (unsigned long long)packet_hops, peak_memory(), net.drops());
    return 0;
}
