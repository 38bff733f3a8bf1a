// An error model of ns-3 that flips bits. Those that come with ns-3 only decide which packets a device drops.
#ifndef HEADWAY_ERROR_MODEL_H
#define HEADWAY_ERROR_MODEL_H

#include "headway-host.h"
#include "ns3/error-model.h"

/**
 * The damage of a headway link, for the receiving device of a point-to-point link.
 *
 * The bits of the packet itself are flipped, and the device hands it up: whoever receives it finds out by checksums. A
 * packet that the model loses, or drops as the frame check of a link does (frame-check=drop), is dropped by the device.
 * The two bytes of PPP are not damaged.
 */
class HeadwayErrorModel : public ns3::ErrorModel
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("HeadwayErrorModel").SetParent<ns3::ErrorModel>();
        return tid;
    }

    /// `keys` are those of damage and loss (headway_link_new), such as "damage=burst:5%:5 header-hit=40%".
    HeadwayErrorModel(const std::string& keys, const std::string& name, uint64_t seed)
    {
        // The rate, the delay and the queue are those of ns-3's devices.
        const std::string all = "rate=unlimited delay=0 queue=unlimited " + keys;
        HeadwayCheck(headway_link_new(all.c_str(), name.c_str(), seed, &m_link));
    }

    ~HeadwayErrorModel() override
    {
        headway_link_free(m_link);
    }

    HeadwayErrorModel(const HeadwayErrorModel&) = delete;
    HeadwayErrorModel& operator=(const HeadwayErrorModel&) = delete;

    headway_link_counters GetCounters() const
    {
        headway_link_counters counters;
        HeadwayCheck(headway_link_statistics(m_link, &counters, sizeof counters));
        return counters;
    }

  private:
    static constexpr uint32_t PPP = 2;

    bool DoCorrupt(ns3::Ptr<ns3::Packet> packet) override
    {
        if (packet->GetSize() <= PPP)
        {
            return false;
        }
        const uint64_t now = ns3::Simulator::Now().GetNanoSeconds();
        std::vector<uint8_t> frame(packet->GetSize());
        packet->CopyData(frame.data(), frame.size());
        size_t length = 0;
        uint32_t flipped = 0;
        HeadwayCheck(headway_link_push(m_link, now, frame.data() + PPP, frame.size() - PPP, nullptr));
        HeadwayCheck(headway_link_pop(m_link, now, frame.data() + PPP, frame.size() - PPP, &length, &flipped));
        if (length == 0)
        {
            return true;
        }
        if (flipped > 0)
        {
            packet->RemoveAtEnd(packet->GetSize());
            packet->AddAtEnd(ns3::Create<ns3::Packet>(frame.data(), frame.size()));
        }
        return false;
    }

    void DoReset() override
    {
    }

    headway_link* m_link = nullptr;
};

#endif
