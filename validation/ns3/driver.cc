// Runs one scenario in ns-3: hosts and switches, point-to-point links, TCP flows.
//
// make.py compiles this file against the ns3 package's headers and libraries. Standard input has one statement a line:
//
//   set ATTRIBUTE VALUE                    default of an ns-3 attribute, such as ns3::TcpSocket::InitialCwnd 10
//   names NAME...                          of the nodes, for a reader
//   network NODES WARM-UP SINCE SEGMENT    seconds; measuring begins SINCE after the warm-up; payload of a full packet
//   link A B RATE DELAY LIMIT MARK         see Simulation::addLink
//   watch A B                              the port from A to B is measured
//   flow FROM TO SIZE START ALGORITHM NAME bytes, or 0 for as much as there is time for; seconds
//   run END                                runs, and prints what it measured
//
// Standard output has one value a line: NAME VALUE.

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace farloop {

using namespace ns3;

/// One flow: a connection that is open before the flow starts, and what the receiver got.
struct Flow
{
    uint32_t from;
    uint32_t to;
    uint64_t size; // payload in bytes; 0 for as much as there is time for
    Time start;
    std::string algorithm;
    Ptr<Socket> sender;
    uint64_t written{0};
    uint64_t received{0};
    uint64_t receivedAtSince{0};
    Time finished{Time(-1)};
    double windowIntegral{0}; // bytes times seconds, from `since` on
    uint32_t window{0};
    Time windowChanged{0};
    uint64_t timeouts{0}; // in the whole run
    uint64_t recoveries{0};
    uint64_t retransmitted{0};
};

/// One egress port and its data queue.
struct Port
{
    Ptr<PointToPointNetDevice> device;
    Ptr<QueueDisc> disc;
    uint64_t drops{0};
    uint64_t dropsAtSince{0};
    uint32_t bytes{0};
    uint32_t maxBytes{0};
    double integral{0}; // bytes times seconds, from `since` on
    Time changed{0};
    bool watched{false};
};

/// A network of point-to-point links with drop-tail queues, or with marking at a threshold.
class Simulation
{
  public:
    /// `warmUp` is the time before all flows' starts: connections are opened in it.
    Simulation(uint32_t nodes, double warmUp, double since, uint32_t segment)
        : m_warmUp(Seconds(warmUp)),
          m_since(Seconds(since)),
          m_segment(segment)
    {
        m_nodes.Create(nodes);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.Install(m_nodes);
        m_addresses.resize(nodes);
    }

    /// A full-duplex link. `limit`: packets that may wait at each of its ends. `mark`: where it is not 0, the packets
    /// that find this many in the queue discipline are marked; one packet more waits in the device.
    void addLink(uint32_t a, uint32_t b, const std::string& rate, const std::string& delay, uint32_t limit, uint32_t mark)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(rate));
        link.SetDeviceAttribute("Mtu", UintegerValue(1500));
        link.SetChannelAttribute("Delay", StringValue(delay));
        if (!mark)
        {
            // The device's queue is the only one: with flow control Assign would put a queue discipline over it.
            link.DisableFlowControl();
        }
        const uint32_t inDevice = mark ? 1 : limit;
        link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(inDevice) + "p"));
        NetDeviceContainer devices = link.Install(m_nodes.Get(a), m_nodes.Get(b));
        QueueDiscContainer discs;
        if (mark)
        {
            TrafficControlHelper control;
            control.SetRootQueueDisc("ns3::RedQueueDisc",
                                     "MaxSize", StringValue(std::to_string(limit - 1) + "p"),
                                     "MinTh", DoubleValue(mark),
                                     "MaxTh", DoubleValue(mark),
                                     "QW", DoubleValue(1.0),
                                     "Gentle", BooleanValue(false),
                                     "UseEcn", BooleanValue(true),
                                     "UseHardDrop", BooleanValue(false),
                                     "LinkBandwidth", StringValue(rate),
                                     "LinkDelay", StringValue(delay));
            discs = control.Install(devices);
        }
        Ipv4AddressHelper addresses;
        const uint32_t net = m_linkCount++;
        const std::string base = "10." + std::to_string(net / 256) + "." + std::to_string(net % 256) + ".0";
        addresses.SetBase(base.c_str(), "255.255.255.0");
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        m_addresses[a] = interfaces.GetAddress(0);
        m_addresses[b] = interfaces.GetAddress(1);
        for (uint32_t end = 0; end < 2; ++end)
        {
            auto device = DynamicCast<PointToPointNetDevice>(devices.Get(end));
            device->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Simulation::countHop, this));
            Port port;
            port.device = device;
            if (mark)
            {
                port.disc = discs.Get(end);
            }
            m_ports[{end == 0 ? a : b, end == 0 ? b : a}] = port;
        }
    }

    /// Measures the queue of the port from a to b.
    void watch(uint32_t a, uint32_t b)
    {
        Port* port = &m_ports.at({a, b});
        port->watched = true;
        Ptr<Queue<Packet>> queue = port->device->GetQueue();
        queue->TraceConnectWithoutContext("BytesInQueue", MakeBoundCallback(&Simulation::queueChanged, this, port));
        if (port->disc)
        {
            port->disc->TraceConnectWithoutContext("BytesInQueue", MakeBoundCallback(&Simulation::queueChanged, this, port));
            port->disc->TraceConnectWithoutContext("Drop", MakeBoundCallback(&Simulation::discDropped, port));
        }
        else
        {
            queue->TraceConnectWithoutContext("Drop", MakeBoundCallback(&Simulation::queueDropped, port));
        }
    }

    void addFlow(uint32_t from, uint32_t to, uint64_t size, double start, const std::string& algorithm)
    {
        Flow flow;
        flow.from = from;
        flow.to = to;
        flow.size = size;
        flow.start = m_warmUp + Seconds(start);
        flow.algorithm = algorithm;
        m_flows.push_back(flow);
    }

    /// Runs until `end` seconds after the warm-up.
    void run(double end)
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        for (uint32_t i = 0; i < m_flows.size(); ++i)
        {
            open(i);
        }
        Simulator::Schedule(m_warmUp + m_since, &Simulation::begin, this);
        m_end = m_warmUp + Seconds(end);
        Simulator::Stop(m_end);
        Simulator::Run();
        m_end = Simulator::Now();
        for (auto& [ends, port] : m_ports)
        {
            settle(port);
        }
        for (auto& flow : m_flows)
        {
            settleWindow(flow);
        }
    }

    void print() const
    {
        std::cout.precision(12);
        std::cout << "end " << (m_end - m_warmUp).GetSeconds() << "\npacket_hops " << m_hops << "\n";
        const double measured = (m_end - m_warmUp - m_since).GetSeconds();
        for (uint32_t i = 0; i < m_flows.size(); ++i)
        {
            const Flow& flow = m_flows[i];
            const double time = flow.finished.IsNegative() ? -1.0 : (flow.finished - flow.start).GetSeconds();
            std::cout << "fct:" << i << " " << time << "\n";
            std::cout << "throughput:" << i << " " << 8.0 * (flow.received - flow.receivedAtSince) / measured << "\n";
            std::cout << "timeouts:" << i << " " << flow.timeouts << "\n";
            std::cout << "recoveries:" << i << " " << flow.recoveries << "\n";
            std::cout << "retransmitted:" << i << " " << flow.retransmitted << "\n";
            std::cout << "cwnd_mean:" << i << " " << flow.windowIntegral / measured << "\n";
        }
        for (const auto& [ends, port] : m_ports)
        {
            if (port.watched)
            {
                const std::string name = std::to_string(ends.first) + "->" + std::to_string(ends.second);
                std::cout << "queue_mean:" << name << " " << port.integral / measured << "\n";
                std::cout << "queue_max:" << name << " " << port.maxBytes << "\n";
                std::cout << "drops:" << name << " " << port.drops - port.dropsAtSince << "\n";
            }
        }
    }

  private:
    void open(uint32_t index)
    {
        Flow& flow = m_flows[index];
        const uint16_t number = 1024 + index;
        auto listener = Socket::CreateSocket(m_nodes.Get(flow.to), TcpSocketFactory::GetTypeId());
        auto sender = Socket::CreateSocket(m_nodes.Get(flow.from), TcpSocketFactory::GetTypeId());
        for (const auto& socket : {listener, sender})
        {
            ObjectFactory factory;
            factory.SetTypeId("ns3::" + flow.algorithm);
            auto base = DynamicCast<TcpSocketBase>(socket);
            base->SetCongestionControlAlgorithm(factory.Create<TcpCongestionOps>());
        }
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), number));
        listener->Listen();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeBoundCallback(&Simulation::accepted, this, index));
        flow.sender = sender;
        sender->Bind();
        sender->SetSendCallback(MakeBoundCallback(&Simulation::write, this, index));
        sender->TraceConnectWithoutContext("CongestionWindow",
                                           MakeBoundCallback(&Simulation::windowChanged, this, index));
        sender->TraceConnectWithoutContext("CongState", MakeBoundCallback(&Simulation::stateChanged, this, index));
        sender->TraceConnectWithoutContext("RTO", MakeBoundCallback(&Simulation::timerChanged, this, index));
        sender->TraceConnectWithoutContext("Retransmission", MakeBoundCallback(&Simulation::retransmitted, this, index));
        const InetSocketAddress peer(m_addresses[flow.to], number);
        Simulator::Schedule(MilliSeconds(index), &Simulation::connect, sender, peer);
        Simulator::Schedule(flow.start, &Simulation::start, this, index);
    }

    static void connect(Ptr<Socket> sender, InetSocketAddress peer)
    {
        sender->Connect(peer);
    }

    void start(uint32_t index)
    {
        m_flows[index].written = 0;
        m_started.insert(index);
        write(this, index, m_flows[index].sender, 0);
    }

    // Whole segments only, but for the last one: an application that never runs dry.
    static void write(Simulation* self, uint32_t index, Ptr<Socket> socket, uint32_t)
    {
        if (!self->m_started.count(index))
        {
            return;
        }
        Flow& flow = self->m_flows[index];
        const uint32_t chunk = 44 * self->m_segment;
        while (flow.size == 0 || flow.written < flow.size)
        {
            const uint32_t bytes = flow.size == 0 ? chunk : std::min<uint64_t>(chunk, flow.size - flow.written);
            if (socket->GetTxAvailable() < bytes)
            {
                return;
            }
            flow.written += bytes;
            socket->Send(Create<Packet>(bytes));
        }
    }

    static void accepted(Simulation* self, uint32_t index, Ptr<Socket> socket, const Address&)
    {
        socket->SetRecvCallback(MakeBoundCallback(&Simulation::read, self, index));
    }

    static void read(Simulation* self, uint32_t index, Ptr<Socket> socket)
    {
        Flow& flow = self->m_flows[index];
        while (Ptr<Packet> packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
            flow.received += packet->GetSize();
        }
        if (flow.size > 0 && flow.received == flow.size && flow.finished.IsNegative())
        {
            flow.finished = Simulator::Now();
        }
    }

    static void windowChanged(Simulation* self, uint32_t index, uint32_t, uint32_t now)
    {
        Flow& flow = self->m_flows[index];
        self->settleWindow(flow);
        flow.window = now;
    }

    static void stateChanged(Simulation* self,
                             uint32_t index,
                             TcpSocketState::TcpCongState_t,
                             TcpSocketState::TcpCongState_t now)
    {
        self->m_flows[index].recoveries += now == TcpSocketState::CA_RECOVERY ? 1 : 0;
    }

    // A timeout doubles it, and nothing else does.
    static void timerChanged(Simulation* self, uint32_t index, Time old, Time now)
    {
        self->m_flows[index].timeouts += now == old + old ? 1 : 0;
    }

    static void retransmitted(Simulation* self,
                              uint32_t index,
                              Ptr<const Packet>,
                              const TcpHeader&,
                              const Address&,
                              const Address&,
                              Ptr<const TcpSocketBase>)
    {
        ++self->m_flows[index].retransmitted;
    }

    void settleWindow(Flow& flow)
    {
        if (m_measuring)
        {
            flow.windowIntegral += flow.window * (Simulator::Now() - flow.windowChanged).GetSeconds();
        }
        flow.windowChanged = Simulator::Now();
    }

    static void queueChanged(Simulation* self, Port* port, uint32_t old, uint32_t now)
    {
        self->settle(*port);
        port->bytes += now - old;
        port->maxBytes = std::max(port->maxBytes, port->bytes);
    }

    static void queueDropped(Port* port, Ptr<const Packet>)
    {
        ++port->drops;
    }

    static void discDropped(Port* port, Ptr<const QueueDiscItem>)
    {
        ++port->drops;
    }

    void settle(Port& port)
    {
        if (m_measuring)
        {
            port.integral += port.bytes * (Simulator::Now() - port.changed).GetSeconds();
        }
        port.changed = Simulator::Now();
    }

    void begin()
    {
        m_measuring = true;
        for (auto& [ends, port] : m_ports)
        {
            port.changed = Simulator::Now();
            port.dropsAtSince = port.drops;
        }
        for (auto& flow : m_flows)
        {
            flow.receivedAtSince = flow.received;
            flow.windowChanged = Simulator::Now();
        }
    }

    void countHop(Ptr<const Packet>)
    {
        ++m_hops;
    }

    Time m_warmUp;
    Time m_since;
    Time m_end;
    uint32_t m_segment;
    uint32_t m_linkCount{0};
    bool m_measuring{false};
    uint64_t m_hops{0};
    NodeContainer m_nodes;
    std::vector<Ipv4Address> m_addresses;
    std::vector<Flow> m_flows;
    std::set<uint32_t> m_started;
    std::map<std::pair<uint32_t, uint32_t>, Port> m_ports;
};

} // namespace farloop

int
main()
{
    std::unique_ptr<farloop::Simulation> simulation;
    std::string word;
    while (std::cin >> word)
    {
        if (word == "set")
        {
            std::string name;
            std::string value;
            std::cin >> name >> value;
            ns3::Config::SetDefault(name, ns3::StringValue(value));
        }
        else if (word == "names")
        {
            std::getline(std::cin, word);
        }
        else if (word == "network")
        {
            uint32_t nodes;
            double warmUp;
            double since;
            uint32_t segment;
            std::cin >> nodes >> warmUp >> since >> segment;
            simulation = std::make_unique<farloop::Simulation>(nodes, warmUp, since, segment);
        }
        else if (word == "link")
        {
            uint32_t a;
            uint32_t b;
            std::string rate;
            std::string delay;
            uint32_t limit;
            uint32_t mark;
            std::cin >> a >> b >> rate >> delay >> limit >> mark;
            simulation->addLink(a, b, rate, delay, limit, mark);
        }
        else if (word == "watch")
        {
            uint32_t a;
            uint32_t b;
            std::cin >> a >> b;
            simulation->watch(a, b);
        }
        else if (word == "flow")
        {
            uint32_t from;
            uint32_t to;
            uint64_t size;
            double start;
            std::string algorithm;
            std::string name;
            std::cin >> from >> to >> size >> start >> algorithm >> name;
            simulation->addFlow(from, to, size, start, algorithm);
        }
        else if (word == "run")
        {
            double end;
            std::cin >> end;
            const std::clock_t begin = std::clock();
            simulation->run(end);
            const double time = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
            simulation->print();
            std::cout << "wall_s " << time << "\n"; // of the processor: the machine may have other work
        }
        else
        {
            std::cerr << "unknown statement: " << word << "\n";
            return 2;
        }
    }
    return 0;
}
