// headway's TCP as an application of ns-3: a host without I/O behind headway.h, on a net device of a node.
#ifndef HEADWAY_HOST_H
#define HEADWAY_HOST_H

#include "ns3/application.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/traced-callback.h"

#include <algorithm>
#include <functional>
#include <headway.h>
#include <string>
#include <utility>
#include <vector>

/// Ends the program where a call of headway fails: what it says is a mistake in the program or in its arguments.
inline void
HeadwayCheck(headway_status status)
{
    if (status != HEADWAY_OK)
    {
        NS_FATAL_ERROR("headway: " << headway_last_error());
    }
}

/**
 * A host of headway's on one net device. It sends and receives whole IP packets, so the node needs no Internet stack.
 *
 * Its time is the simulator's. After each packet and each timeout the program is called, then everything that the host
 * has to send goes to the device.
 */
class HeadwayHost : public ns3::Application
{
  public:
    /// What runs on the host; it is called with the time in nanoseconds.
    using Program = std::function<void(headway_host*, uint64_t)>;

    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("HeadwayHost")
                .SetParent<ns3::Application>()
                .AddTraceSource("Tx",
                                "An IP packet leaves the host",
                                ns3::MakeTraceSourceAccessor(&HeadwayHost::m_tx),
                                "ns3::Packet::TracedCallback")
                .AddTraceSource("Rx",
                                "An IP packet arrives at the host, perhaps damaged",
                                ns3::MakeTraceSourceAccessor(&HeadwayHost::m_rx),
                                "ns3::Packet::TracedCallback");
        return tid;
    }

    /// `keys`, `name` and `seed` are those of headway_host_new.
    HeadwayHost(const std::string& address, const std::string& keys, const std::string& name, uint64_t seed)
    {
        HeadwayCheck(headway_host_new(address.c_str(), keys.c_str(), name.c_str(), seed, &m_host));
        size_t mtu = 0;
        HeadwayCheck(headway_host_mtu(m_host, &mtu));
        m_buffer.resize(mtu);
    }

    ~HeadwayHost() override
    {
        headway_host_free(m_host);
    }

    HeadwayHost(const HeadwayHost&) = delete;
    HeadwayHost& operator=(const HeadwayHost&) = delete;

    /// The device that packets leave by and arrive from; the node of the application is the device's.
    void SetDevice(ns3::Ptr<ns3::NetDevice> device)
    {
        m_device = std::move(device);
    }

    void SetProgram(Program program)
    {
        m_program = std::move(program);
    }

    headway_host* GetHost() const
    {
        return m_host;
    }

  private:
    static constexpr uint16_t IPV4 = 0x0800;
    static constexpr uint16_t IPV6 = 0x86dd;

    static uint64_t Now()
    {
        return ns3::Simulator::Now().GetNanoSeconds();
    }

    void StartApplication() override
    {
        for (uint16_t protocol : {IPV4, IPV6})
        {
            GetNode()->RegisterProtocolHandler(ns3::MakeCallback(&HeadwayHost::Receive, this), protocol, m_device);
        }
        Turn();
    }

    void StopApplication() override
    {
        GetNode()->UnregisterProtocolHandler(ns3::MakeCallback(&HeadwayHost::Receive, this));
        m_timer.Cancel();
    }

    void Receive(ns3::Ptr<ns3::NetDevice>,
                 ns3::Ptr<const ns3::Packet> packet,
                 uint16_t,
                 const ns3::Address&,
                 const ns3::Address&,
                 ns3::NetDevice::PacketType)
    {
        m_rx(packet);
        std::vector<uint8_t> bytes(packet->GetSize());
        packet->CopyData(bytes.data(), bytes.size());
        HeadwayCheck(headway_host_receive(m_host, Now(), bytes.data(), bytes.size(), nullptr));
        Turn();
    }

    void HandleTimeout()
    {
        HeadwayCheck(headway_host_handle_timeout(m_host, Now()));
        Turn();
    }

    void Turn()
    {
        const uint64_t now = Now();
        m_program(m_host, now);
        for (;;)
        {
            size_t length = 0;
            HeadwayCheck(headway_host_poll_transmit(m_host, now, m_buffer.data(), m_buffer.size(), &length));
            if (length == 0)
            {
                break;
            }
            auto packet = ns3::Create<ns3::Packet>(m_buffer.data(), length);
            m_tx(packet);
            // What the device's queue has no room for is lost, as on any link.
            m_device->Send(packet, m_device->GetBroadcast(), m_buffer[0] >> 4 == 6 ? IPV6 : IPV4);
        }
        uint64_t at = 0;
        HeadwayCheck(headway_host_next_deadline(m_host, &at));
        m_timer.Cancel();
        if (at != HEADWAY_NEVER)
        {
            const uint64_t wait = std::max(at, now) - now;
            m_timer = ns3::Simulator::Schedule(ns3::NanoSeconds(wait), &HeadwayHost::HandleTimeout, this);
        }
    }

    headway_host* m_host = nullptr;
    ns3::Ptr<ns3::NetDevice> m_device;
    Program m_program;
    ns3::EventId m_timer;
    std::vector<uint8_t> m_buffer;
    ns3::TracedCallback<ns3::Ptr<const ns3::Packet>> m_tx;
    ns3::TracedCallback<ns3::Ptr<const ns3::Packet>> m_rx;
};

#endif
