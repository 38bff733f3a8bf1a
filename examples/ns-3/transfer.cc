// One transfer over a point-to-point link that damages packets, in ns-3: by headway's TCP, or by ns-3's own over the same
// devices. Every byte that headway delivers is compared.

#include "headway-error-model.h"
#include "headway-host.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace ns3;

namespace
{

struct Settings
{
    std::string tcp = "headway";
    std::string keys = "variant=headway";
    std::string rate = "10Mbps";
    std::string delay = "50ms";
    uint32_t queue = 100;
    std::string damage = "damage=burst:5%:5 header-hit=40%";
    uint64_t size = 1000000;
    uint64_t seed = 1;
    std::string pcap;
};

/// What a transfer has shown so far.
struct Transfer
{
    uint64_t arrived = 0;
    /// When the last byte had arrived, in nanoseconds.
    uint64_t nanoseconds = 0;
    uint64_t retransmissions = 0;
    /// FNV-1a of every packet that enters or leaves a host, with its time and direction: as of headway's tests.
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
};

void
Add(Transfer& transfer, const uint8_t* bytes, size_t length)
{
    for (size_t i = 0; i < length; ++i)
    {
        transfer.digest = (transfer.digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
}

void
Record(Transfer* transfer, uint8_t outbound, Ptr<const Packet> packet)
{
    const uint64_t now = Simulator::Now().GetNanoSeconds();
    uint8_t start[9];
    for (int i = 0; i < 8; ++i)
    {
        start[i] = uint8_t(now >> (8 * i));
    }
    start[8] = outbound;
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), bytes.size());
    Add(*transfer, start, sizeof start);
    Add(*transfer, bytes.data(), bytes.size());
}

/// Connects, writes the content, closes; ends the simulation when nothing more is to come from its side.
class Client
{
  public:
    Client(const std::vector<uint8_t>& content, Transfer& transfer)
        : m_content(content),
          m_transfer(transfer)
    {
    }

    void operator()(headway_host* host, uint64_t now)
    {
        if (m_connection == 0)
        {
            HeadwayCheck(headway_host_connect(host, now, "10.0.1.1:40000", "10.0.2.1:5001", &m_connection));
        }
        headway_notification what;
        do
        {
            headway_connection connection;
            HeadwayCheck(headway_host_poll_notification(host, &connection, &what));
            m_writable |= what == HEADWAY_NOTIFICATION_CONNECTED || what == HEADWAY_NOTIFICATION_WRITABLE;
        } while (what != HEADWAY_NOTIFICATION_NONE);
        if (m_writable && m_written < m_content.size())
        {
            size_t taken = 0;
            HeadwayCheck(headway_host_write(host,
                                            m_connection,
                                            m_content.data() + m_written,
                                            m_content.size() - m_written,
                                            &taken));
            m_written += taken;
            m_writable = m_written == m_content.size();
            if (m_writable)
            {
                HeadwayCheck(headway_host_shutdown(host, now, m_connection));
            }
        }
        headway_statistics statistics;
        HeadwayCheck(headway_host_statistics(host, m_connection, &statistics, sizeof statistics));
        m_transfer.retransmissions = statistics.retransmissions;
        headway_state state;
        HeadwayCheck(headway_host_state(host, m_connection, &state));
        if (m_transfer.arrived == m_content.size() &&
            (state == HEADWAY_STATE_CLOSED || state == HEADWAY_STATE_TIME_WAIT || state == HEADWAY_STATE_FIN_WAIT_2))
        {
            Simulator::Stop();
        }
    }

  private:
    const std::vector<uint8_t>& m_content;
    Transfer& m_transfer;
    headway_connection m_connection = 0;
    size_t m_written = 0;
    bool m_writable = false;
};

/// Accepts, compares what it reads with the content, closes after the client.
class Server
{
  public:
    Server(const std::vector<uint8_t>& content, Transfer& transfer)
        : m_content(content),
          m_transfer(transfer),
          m_buffer(1 << 20)
    {
    }

    void operator()(headway_host* host, uint64_t now)
    {
        if (m_listener == 0)
        {
            HeadwayCheck(headway_host_listen(host, "10.0.2.1:5001", 1, &m_listener));
        }
        if (m_connection == 0)
        {
            HeadwayCheck(headway_host_accept(host, m_listener, &m_connection));
        }
        headway_notification what;
        do
        {
            headway_connection connection;
            HeadwayCheck(headway_host_poll_notification(host, &connection, &what));
        } while (what != HEADWAY_NOTIFICATION_NONE);
        if (m_connection == 0)
        {
            return;
        }
        size_t length = 0;
        HeadwayCheck(headway_host_read(host, m_connection, m_buffer.data(), m_buffer.size(), &length));
        if (m_transfer.arrived + length > m_content.size() ||
            std::memcmp(m_buffer.data(), m_content.data() + m_transfer.arrived, length) != 0)
        {
            NS_FATAL_ERROR("bytes from " << m_transfer.arrived << " on differ from what was sent");
        }
        m_transfer.arrived += length;
        if (length > 0 && m_transfer.arrived == m_content.size())
        {
            m_transfer.nanoseconds = now;
        }
        bool finished = false;
        HeadwayCheck(headway_host_is_finished(host, m_connection, &finished));
        if (finished && !m_closed)
        {
            m_closed = true;
            HeadwayCheck(headway_host_shutdown(host, now, m_connection));
        }
    }

  private:
    const std::vector<uint8_t>& m_content;
    Transfer& m_transfer;
    std::vector<uint8_t> m_buffer;
    headway_listener m_listener = 0;
    headway_connection m_connection = 0;
    bool m_closed = false;
};

/// headway's TCP on both nodes.
void
InstallHeadway(const Settings& settings, const NetDeviceContainer& devices, Transfer& transfer)
{
    // It lives until the end of the program, as the applications that refer to it.
    static std::vector<uint8_t> content;
    content.resize(settings.size);
    for (uint64_t i = 0; i < settings.size; ++i)
    {
        content[i] = uint8_t((i * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
    }
    const auto install = [&](uint32_t at, const char* address, const char* name, HeadwayHost::Program program) {
        auto host = CreateObject<HeadwayHost>(address, settings.keys, name, settings.seed);
        host->SetDevice(devices.Get(at));
        host->SetProgram(std::move(program));
        host->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Record, &transfer, uint8_t(1)));
        host->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Record, &transfer, uint8_t(0)));
        devices.Get(at)->GetNode()->AddApplication(host);
    };
    install(1, "10.0.2.1", "receiver", Server(content, transfer));
    install(0, "10.0.1.1", "sender", Client(content, transfer));
}

void
OnReceived(Transfer* transfer, uint64_t size, Ptr<const Packet> packet, const Address&)
{
    transfer->arrived += packet->GetSize();
    if (transfer->arrived >= size)
    {
        transfer->nanoseconds = Simulator::Now().GetNanoSeconds();
        Simulator::Stop();
    }
}

void
OnSegment(Transfer* transfer, SequenceNumber32* next, Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    const SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
    transfer->retransmissions += packet->GetSize() > 0 && header.GetSequenceNumber() < *next;
    *next = std::max(*next, end);
}

/// The sender makes its socket when it starts.
void
Watch(Ptr<BulkSendApplication> sender, Transfer* transfer)
{
    static SequenceNumber32 next(0);
    sender->GetSocket()->TraceConnectWithoutContext("Tx", MakeBoundCallback(&OnSegment, transfer, &next));
}

/// ns-3's TCP on both nodes: CUBIC, SACK, the sizes of headway's.
void
InstallNs3(const Settings& settings, const NodeContainer& nodes, const NetDeviceContainer& devices, Transfer& transfer)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::TcpCubic")));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(2 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // Assigning addresses installs FqCoDel before the queue of the device.
    TrafficControlHelper().Uninstall(devices);
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    ApplicationContainer receivers = sink.Install(nodes.Get(1));
    receivers.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&OnReceived, &transfer, settings.size));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5001));
    bulk.SetAttribute("MaxBytes", UintegerValue(settings.size));
    ApplicationContainer senders = bulk.Install(nodes.Get(0));
    Simulator::Schedule(NanoSeconds(1), &Watch, DynamicCast<BulkSendApplication>(senders.Get(0)), &transfer);
}

/// Takes the whole of an argument: ns-3 reads a text up to its first space.
bool
TakeWords(std::string* place, const std::string& words)
{
    *place = words;
    return true;
}

} // namespace

int
main(int argc, char* argv[])
{
    Settings settings;
    CommandLine command;
    command.AddValue("tcp", "headway, or ns3 for ns-3's own (CUBIC, SACK)", settings.tcp);
    command.AddValue("keys",
                     "keys of headway's hosts",
                     MakeBoundCallback(&TakeWords, &settings.keys),
                     settings.keys);
    command.AddValue("rate", "rate of the link in bits of frames, which have 2 bytes beside the IP packet", settings.rate);
    command.AddValue("delay", "one-way propagation delay", settings.delay);
    command.AddValue("queue", "packets that the queue of a device holds", settings.queue);
    command.AddValue("damage",
                     "keys of the damage on the forward path",
                     MakeBoundCallback(&TakeWords, &settings.damage),
                     settings.damage);
    command.AddValue("size", "bytes to send", settings.size);
    command.AddValue("seed", "seed of damage and hosts", settings.seed);
    command.AddValue("pcap", "prefix of captures of both devices", settings.pcap);
    command.Parse(argc, argv);
    NS_ABORT_MSG_UNLESS(settings.tcp == "headway" || settings.tcp == "ns3",
                        "tcp: expected headway or ns3, got " << settings.tcp);
    NS_ABORT_MSG_UNLESS(settings.size > 0, "size: expected at least 1 byte, got 0");

    NodeContainer nodes;
    nodes.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(settings.rate));
    link.SetChannelAttribute("Delay", StringValue(settings.delay));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, settings.queue)));
    NetDeviceContainer devices = link.Install(nodes);

    // A TCP that does not know HACK drops what its checksum refuses. The device does it here: the packets that are hit
    // are the same, and ns-3's TCP verifies no checksums unless it is asked to.
    const bool isHeadway = settings.tcp == "headway";
    auto errors = CreateObject<HeadwayErrorModel>(settings.damage + (isHeadway ? "" : " frame-check=drop"),
                                            "forward link",
                                            settings.seed);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));

    Transfer transfer;
    if (isHeadway)
    {
        InstallHeadway(settings, devices, transfer);
    }
    else
    {
        InstallNs3(settings, nodes, devices, transfer);
    }
    if (!settings.pcap.empty())
    {
        link.EnablePcapAll(settings.pcap);
    }
    Simulator::Stop(Hours(24));
    Simulator::Run();
    const headway_link_counters counters = errors->GetCounters();
    Simulator::Destroy();

    if (transfer.arrived < settings.size)
    {
        std::fprintf(stderr, "%" PRIu64 " of %" PRIu64 " bytes arrived in 24 hours\n", transfer.arrived, settings.size);
        return EXIT_FAILURE;
    }
    std::printf("%s seed=%" PRIu64 " bytes=%" PRIu64 " nanoseconds=%" PRIu64 " damaged=%" PRIu64 " packets=%" PRIu64
                " retransmissions=%" PRIu64,
                settings.tcp.c_str(),
                settings.seed,
                transfer.arrived,
                transfer.nanoseconds,
                counters.hit,
                counters.offered,
                transfer.retransmissions);
    if (isHeadway)
    {
        std::printf(" digest=%016" PRIx64, transfer.digest);
    }
    std::printf("\n");
    return EXIT_SUCCESS;
}
