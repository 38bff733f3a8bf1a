// NewReno and CUBIC for ns-3, written only from the RFCs, in floating point.
//
// They separate two causes of differences between headway and ns-3: they replace ns-3's controllers
// (TcpLinuxReno, TcpCubic) and keep its sockets (loss detection, recovery, timers).

#ifndef HEADWAY_RFC_CONGESTION_H
#define HEADWAY_RFC_CONGESTION_H

#include <algorithm>
#include <cmath>

#include "ns3/internet-module.h"

/// RFC 5681 with appropriate byte counting (RFC 3465).
class RfcReno : public ns3::TcpCongestionOps
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("ns3::RfcReno")
                .SetParent<ns3::TcpCongestionOps>()
                .AddConstructor<RfcReno>()
                .AddAttribute("RecoveryOpens",
                              "As in ns-3's controllers: the ACK that ends recovery opens the window by all that "
                              "it acknowledges, although most of that was selectively acknowledged before",
                              ns3::BooleanValue(false),
                              ns3::MakeBooleanAccessor(&RfcReno::m_recoveryOpens),
                              ns3::MakeBooleanChecker())
                .AddAttribute("TimeoutLeaps",
                              "As in ns-3's TcpCubic: after a timeout an ACK opens the window by all that it "
                              "acknowledges, even beyond the threshold",
                              ns3::BooleanValue(false),
                              ns3::MakeBooleanAccessor(&RfcReno::m_timeoutLeaps),
                              ns3::MakeBooleanChecker());
        return tid;
    }

    std::string GetName() const override
    {
        return "RfcReno";
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<RfcReno>(this);
    }

    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState>,
                            const ns3::TcpSocketState::TcpCongState_t state) override
    {
        using State = ns3::TcpSocketState;
        // RFC 5681, 4.3 and RFC 6675, 5: data acknowledged in recovery does not open the window. ns-3
        // counts all of it when the ACK that ends recovery arrives.
        m_leaving = state == State::CA_OPEN && m_state == State::CA_RECOVERY;
        if (state == State::CA_RECOVERY || state == State::CA_LOSS)
        {
            m_growth = 0;
        }
        if (state == State::CA_LOSS)
        {
            OnTimeout();
        }
        m_state = state;
    }

    void IncreaseWindow(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override
    {
        if (m_leaving)
        {
            m_leaving = false;
            segmentsAcked = m_recoveryOpens ? segmentsAcked : std::min(segmentsAcked, 1U);
        }
        const double mss = tcb->m_segmentSize;
        if (tcb->m_cWnd < tcb->m_ssThresh && m_timeoutLeaps)
        {
            tcb->m_cWnd += segmentsAcked * tcb->m_segmentSize;
            return;
        }
        if (tcb->m_cWnd < tcb->m_ssThresh)
        {
            // RFC 3465, 2.3: after a timeout "L MUST be set to 1*SMSS": data that the receiver had
            // already does not show what left the network.
            const bool lossWindow = m_state == ns3::TcpSocketState::CA_LOSS;
            const uint32_t segments = lossWindow ? std::min(segmentsAcked, 1U) : segmentsAcked;
            tcb->m_cWnd = std::min<uint64_t>(tcb->m_cWnd.Get() + uint64_t(segments * mss), tcb->m_ssThresh);
            return;
        }
        // Windows of ns-3 are whole bytes; the fraction is kept here.
        m_growth += Growth(tcb, segmentsAcked * mss);
        const double whole = std::floor(m_growth);
        m_growth -= whole;
        tcb->m_cWnd = tcb->m_cWnd.Get() + uint32_t(whole);
    }

    /// RFC 5681, equation (4), with the window instead of FlightSize: in ns-3 the bytes in flight exclude
    /// selectively acknowledged ones.
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        return std::max<uint32_t>(tcb->m_cWnd / 2, 2 * tcb->m_segmentSize);
    }

  protected:
    /// The growth of the window in congestion avoidance, in bytes.
    virtual double Growth(ns3::Ptr<ns3::TcpSocketState> tcb, double acked)
    {
        return tcb->m_segmentSize * acked / tcb->m_cWnd;
    }

    virtual void OnTimeout()
    {
    }

  private:
    ns3::TcpSocketState::TcpCongState_t m_state = ns3::TcpSocketState::CA_OPEN;
    bool m_recoveryOpens = false;
    bool m_timeoutLeaps = false;
    bool m_leaving = false;
    double m_growth = 0;
};

/// RFC 9438. Windows in segments and times in seconds, as in the RFC.
class RfcCubic : public RfcReno
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid =
            ns3::TypeId("ns3::RfcCubic")
                .SetParent<RfcReno>()
                .AddConstructor<RfcCubic>()
                .AddAttribute("WholeSegments",
                              "As in ns-3's TcpCubic: the distance from the maximum is truncated to whole segments",
                              ns3::BooleanValue(false),
                              ns3::MakeBooleanAccessor(&RfcCubic::m_wholeSegments),
                              ns3::MakeBooleanChecker())
                .AddAttribute("RenoFriendly",
                              "RFC 9438, 4.3; ns-3's TcpCubic has no such region",
                              ns3::BooleanValue(true),
                              ns3::MakeBooleanAccessor(&RfcCubic::m_renoFriendly),
                              ns3::MakeBooleanChecker());
        return tid;
    }

    std::string GetName() const override
    {
        return "RfcCubic";
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override
    {
        return ns3::CopyObject<RfcCubic>(this);
    }

    void PktsAcked(ns3::Ptr<ns3::TcpSocketState>, uint32_t, const ns3::Time& rtt) override
    {
        m_rtt = rtt.GetSeconds();
    }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t) override
    {
        const double mss = tcb->m_segmentSize;
        const double cwnd = tcb->m_cWnd / mss;
        // 4.7, fast convergence.
        m_wMax = cwnd < m_wMax ? cwnd * (1 + BETA) / 2 : cwnd;
        // 4.6.
        m_cwndPrior = cwnd;
        m_epoch = -1;
        return uint32_t(std::max(cwnd * BETA, 2.0) * mss);
    }

  protected:
    double Growth(ns3::Ptr<ns3::TcpSocketState> tcb, double acked) override
    {
        const double mss = tcb->m_segmentSize;
        const double cwnd = tcb->m_cWnd / mss;
        const double segments = acked / mss;
        const double now = ns3::Simulator::Now().GetSeconds();
        if (m_epoch < 0)
        {
            m_epoch = now;
            m_wEst = cwnd;
            // 4.8 and 4.10: without a previous maximum, K is 0.
            m_wMax = std::max(m_wMax, cwnd);
            m_cwndPrior = m_cwndPrior == 0 ? cwnd : m_cwndPrior;
            m_k = std::cbrt((m_wMax - cwnd) / C);
        }
        const double t = now - m_epoch;
        // 4.3.
        m_wEst += (m_wEst >= m_cwndPrior ? 1 : 3 * (1 - BETA) / (1 + BETA)) * segments / cwnd;
        if (m_renoFriendly && Cubic(t) < m_wEst)
        {
            return std::max(m_wEst - cwnd, 0.0) * mss;
        }
        // 4.2, 4.4 and 4.5.
        const double target = std::clamp(Cubic(t + m_rtt), cwnd, 1.5 * cwnd);
        return (target - cwnd) / cwnd * segments * mss;
    }

    void OnTimeout() override
    {
        // 4.8: the window at the beginning of the next stage is the maximum.
        m_wMax = 0;
    }

  private:
    static constexpr double BETA = 0.7;
    static constexpr double C = 0.4;

    double Cubic(double t) const
    {
        const double distance = C * std::pow(t - m_k, 3);
        return (m_wholeSegments ? std::trunc(distance) : distance) + m_wMax;
    }

    bool m_wholeSegments = false;
    bool m_renoFriendly = true;
    double m_wMax = 0;
    double m_cwndPrior = 0;
    double m_epoch = -1;
    double m_k = 0;
    double m_wEst = 0;
    double m_rtt = 0;
};

#endif
