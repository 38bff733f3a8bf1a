// Completion times of one TCP transfer over a lossy path in ns-3, as CSV.
//
// The path is headway's: a point-to-point link with a drop-tail queue, random loss on the forward path,
// no loss on the reverse path. ns-3's attributes are set to headway's values.

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "rfc_congestion.h"

using namespace ns3;

namespace
{

/// The parameters of a run.
struct Path
{
    std::string congestion;
    std::string recovery;
    double loss;
    uint64_t bytes;
    uint32_t run;
    bool hystart;
    bool pacing;
    uint64_t bitsPerSecond;
    double delaySeconds;
    uint32_t queuePackets;
    double minimumSeconds;
    double variationSeconds;
    bool trace;
};

/// The results of one transfer.
struct Transfer
{
    uint64_t expected = 0;
    uint64_t received = 0;
    double seconds = -1;
    uint64_t dropped = 0;
    uint64_t lost = 0;
    /// Lost retransmissions among them.
    uint64_t lostAgain = 0;
    std::set<uint32_t> lostNumbers;
    uint64_t timeouts = 0;
    uint64_t recoveries = 0;
};

Transfer g_transfer;
bool g_trace = false;

void
OnReceived(Ptr<const Packet> packet, const Address&)
{
    g_transfer.received += packet->GetSize();
    if (g_transfer.received >= g_transfer.expected)
    {
        g_transfer.seconds = Simulator::Now().GetSeconds();
        Simulator::Stop();
    }
}

void
OnQueueDrop(Ptr<const Packet>)
{
    ++g_transfer.dropped;
}

void
OnLost(Ptr<const Packet> packet)
{
    ++g_transfer.lost;
    Ptr<Packet> copy = packet->Copy();
    PppHeader ppp;
    Ipv4Header ip;
    TcpHeader tcp;
    copy->RemoveHeader(ppp);
    copy->RemoveHeader(ip);
    copy->RemoveHeader(tcp);
    if (copy->GetSize() > 0 && !g_transfer.lostNumbers.insert(tcp.GetSequenceNumber().GetValue()).second)
    {
        ++g_transfer.lostAgain;
    }
}

void
OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now)
{
    g_transfer.timeouts += now == TcpSocketState::CA_LOSS;
    g_transfer.recoveries += now == TcpSocketState::CA_RECOVERY;
    if (g_trace)
    {
        std::cerr << std::fixed << Simulator::Now().GetSeconds() << " state "
                  << TcpSocketState::TcpCongStateName[now] << "\n";
    }
}

void
OnWindow(uint32_t, uint32_t now)
{
    std::cerr << std::fixed << Simulator::Now().GetSeconds() << " cwnd " << now << "\n";
}

void
OnThreshold(uint32_t, uint32_t now)
{
    std::cerr << std::fixed << Simulator::Now().GetSeconds() << " ssthresh " << now << "\n";
}

void
OnSent(Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    std::cerr << std::fixed << Simulator::Now().GetSeconds() << " sent " << header.GetSequenceNumber()
              << "\n";
}

/// Bulk senders create their socket when they start, so it can be traced only from then on.
void
Watch(Ptr<BulkSendApplication> sender)
{
    Ptr<Socket> socket = sender->GetSocket();
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&OnState));
    if (g_trace)
    {
        socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&OnWindow));
        socket->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&OnThreshold));
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&OnSent));
    }
}

void
SetDefaults(const Path& path)
{
    const uint32_t buffer = 16 << 20;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + path.congestion)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TypeId::LookupByName("ns3::" + path.recovery)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(path.minimumSeconds)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(Seconds(path.variationSeconds)));
    Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(path.pacing));
    Config::SetDefault("ns3::TcpSocketState::PaceInitialWindow", BooleanValue(path.pacing));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(path.hystart));
}

Transfer
Run(const Path& path)
{
    g_transfer = Transfer();
    g_transfer.expected = path.bytes;
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(path.run);
    SetDefaults(path);

    NodeContainer nodes;
    nodes.Create(2);
    // A frame has 2 bytes of PPP in addition to the IP packet; the given rate is in IP bytes of full
    // packets.
    const uint64_t frames = path.bitsPerSecond / 1500 * 1502;
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(frames)));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(path.delaySeconds)));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, path.queuePackets)));
    NetDeviceContainer devices = link.Install(nodes);

    Ptr<RateErrorModel> errors = CreateObject<RateErrorModel>();
    errors->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    errors->SetRate(path.loss);
    errors->AssignStreams(1);
    devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(errors));
    devices.Get(1)->TraceConnectWithoutContext("PhyRxDrop", MakeCallback(&OnLost));

    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    // Assigning addresses installs FqCoDel before the device's queue.
    TrafficControlHelper().Uninstall(devices);
    // Packets beyond the device's queue are dropped before it.
    nodes.Get(0)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext("TcDrop",
                                                                              MakeCallback(&OnQueueDrop));

    const uint16_t port = 9;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    ApplicationContainer receivers = sink.Install(nodes.Get(1));
    receivers.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&OnReceived));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(path.bytes));
    ApplicationContainer senders = bulk.Install(nodes.Get(0));
    receivers.Start(Seconds(0));
    senders.Start(Seconds(0));
    Simulator::Schedule(MicroSeconds(1), &Watch, DynamicCast<BulkSendApplication>(senders.Get(0)));

    Simulator::Stop(Hours(24));
    Simulator::Run();
    Simulator::Destroy();
    return g_transfer;
}

} // namespace

int
main(int argc, char* argv[])
{
    RfcReno::GetTypeId();
    RfcCubic::GetTypeId();
    Path path{"TcpCubic", "TcpPrrRecovery", 0, 2000000, 1, false, false, 10000000, 0.150, 250, 1, 0.2, false};
    uint32_t runs = 30;
    bool header = true;
    CommandLine command;
    command.AddValue("congestion", "TcpCubic, TcpLinuxReno, RfcCubic or RfcReno", path.congestion);
    command.AddValue("recovery", "TcpPrrRecovery or TcpClassicRecovery", path.recovery);
    command.AddValue("loss", "loss rate of the data packets", path.loss);
    command.AddValue("bytes", "bytes to send", path.bytes);
    command.AddValue("first", "ns-3's run number of the first run", path.run);
    command.AddValue("runs", "number of runs", runs);
    command.AddValue("hystart", "HyStart of TcpCubic", path.hystart);
    command.AddValue("pacing", "pacing", path.pacing);
    command.AddValue("rate", "bits of IP packets per second", path.bitsPerSecond);
    command.AddValue("delay", "propagation delay one way, seconds", path.delaySeconds);
    command.AddValue("queue", "packets that the queue holds", path.queuePackets);
    command.AddValue("min-rto", "lower bound of the retransmission timeout, seconds", path.minimumSeconds);
    command.AddValue("variation",
                     "lower bound of the RTO's part for the variation, seconds",
                     path.variationSeconds);
    command.AddValue("trace", "window, threshold, state and segments on standard error", path.trace);
    command.AddValue("header", "print the names of the columns", header);
    command.Parse(argc, argv);
    g_trace = path.trace;

    if (header)
    {
        std::cout << "congestion,recovery,min_rto,pacing,loss,bytes,runs,seconds_lower_quartile,seconds_median,"
                     "seconds_upper_quartile,recoveries,timeouts,lost,lost_again,queue_drops\n";
    }
    std::vector<Transfer> transfers;
    const uint32_t first = path.run;
    for (path.run = first; path.run < first + runs; ++path.run)
    {
        transfers.push_back(Run(path));
        if (transfers.back().seconds < 0)
        {
            std::cerr << "run " << path.run << ": " << transfers.back().received << " of " << path.bytes
                      << " octets arrived in 24 hours\n";
            return EXIT_FAILURE;
        }
    }
    const auto quantile = [&](double share, auto of) {
        std::vector<double> values;
        for (const Transfer& transfer : transfers)
        {
            values.push_back(of(transfer));
        }
        std::sort(values.begin(), values.end());
        // Between two values as near as the share says, as headway's tables do.
        const double place = share * (values.size() - 1);
        const size_t below = size_t(place);
        const size_t above = std::min(below + 1, values.size() - 1);
        return values[below] + (place - below) * (values[above] - values[below]);
    };
    const auto seconds = [](const Transfer& transfer) { return transfer.seconds; };
    std::cout << path.congestion << ',' << path.recovery << ',' << path.minimumSeconds << ',' << path.pacing
              << ',' << path.loss << ',' << path.bytes << ',' << runs << std::fixed << std::setprecision(3) << ','
              << quantile(0.25, seconds) << ',' << quantile(0.5, seconds) << ',' << quantile(0.75, seconds)
              << std::setprecision(1);
    using Count = uint64_t Transfer::*;
    for (Count count : {&Transfer::recoveries,
                        &Transfer::timeouts,
                        &Transfer::lost,
                        &Transfer::lostAgain,
                        &Transfer::dropped})
    {
        std::cout << ',' << quantile(0.5, [count](const Transfer& transfer) { return double(transfer.*count); });
    }
    std::cout << std::endl;
    return EXIT_SUCCESS;
}
