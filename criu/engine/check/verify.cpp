// SPDX-License-Identifier: GPL-2.0-only
#include <atomic>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/json.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/secret_images.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/pages/page_check.hpp"

namespace criu::engine {
namespace {

/// Findings of `criu verify`. Any thread may add damage.
class DamageReport {
public:
    void damage(std::string_view text) {
        add(Kind::Damage, text);
        ++damages_;
    }
    /// Adds content that criu can't verify.
    void lacking(std::string_view text) {
        add(Kind::Unverified, text);
        complete_ = false;
    }
    void good(std::string_view text) { add(Kind::Verified, text); }

    [[nodiscard]] unsigned damages() const noexcept { return damages_; }
    /// Returns true if criu verified all content and found no damage.
    [[nodiscard]] bool complete() const noexcept { return complete_ && damages_ == 0; }
    /// Returns the report with one line for each finding.
    [[nodiscard]] std::string text() const;
    /// Returns the report as a JSON document.
    [[nodiscard]] std::string json() const;

private:
    enum class Kind : std::uint8_t { Damage, Unverified, Verified };
    struct Finding {
        Kind kind;
        std::string text;
    };

    void add(Kind kind, std::string_view text) {
        const std::lock_guard lock(mutex_);
        findings_.push_back({kind, std::string(text)});
    }
    void addList(JsonWriter& out, std::string_view key, Kind kind) const;

    std::mutex mutex_;
    std::vector<Finding> findings_;
    std::atomic<unsigned> damages_{0};
    bool complete_ = true;
};

std::string DamageReport::text() const {
    std::string out;
    for (const Finding& each : findings_)
        fmt::format_to(std::back_inserter(out), "{}{}\n", each.kind == Kind::Damage ? "Damaged: " : "",
                       printable(each.text));
    return out;
}

void DamageReport::addList(JsonWriter& out, std::string_view key, Kind kind) const {
    out.beginList(key);
    for (const Finding& each : findings_)
        if (each.kind == kind)
            out.add("", each.text);
    out.end();
}

std::string DamageReport::json() const {
    JsonWriter out;
    out.beginObject().add("command", "verify").add("good", complete());
    addList(out, "damages", Kind::Damage);
    addList(out, "unverified", Kind::Unverified);
    addList(out, "verified", Kind::Verified);
    return out.end().take();
}

void verifyFiles(const ImageDir& images, DamageReport& report, const std::function<void()>& checkStop) {
    const unsigned before = report.damages();
    try {
        const ChecksumCheck check(
            images, [&report](const std::string& damage) { report.damage(damage); }, checkStop);
        if (check.files() == 0)
            report.lacking(fmt::format("{} has no list of checksums: its files can't be verified", images.name()));
        else if (report.damages() == before)
            report.good(fmt::format("{}: {} files of {} bytes are as they were written", images.name(), check.files(),
                                    check.bytes()));
    } catch (const Error& error) {
        if (error.code() == EINTR)
            throw;
        report.damage(error.what());
    }
}

void verifyPages(const ImageDir& images, DamageReport& report, const std::function<void()>& checkStop) {
    const unsigned before = report.damages();
    const memory::PageCheck check(
        images, [&report](const std::string& damage) { report.damage(damage); }, checkStop);
    if (check.without() != 0)
        report.lacking(
            fmt::format("{} pages have no checksums: they can't be verified", check.without() / kImagePageSize));
    if (report.damages() == before && check.compared() != 0)
        report.good(fmt::format("{} pages ({} MiB) are as they were written", check.compared() / kImagePageSize,
                                check.compared() >> 20));
}

void verifyAll(Run& run, ImageDir& images, DamageReport& report) {
    const auto checkStop = [&run] { run.stop.throwIfRequested(); };
    bool authentic = false;
    try {
        for (const std::string& found : verifySecrecy(run, images)) {
            report.good(found);
            authentic = true;
        }
    } catch (const Error& error) {
        if (error.code() == EINTR)
            throw;
        if (error.code() == ENOKEY) {
            report.lacking(error.what());  // no key to look into the images, which may be good
            return;
        }
        report.damage(error.what());
    }
    // Skips the checksums if the signature or the encryption has already verified all content.
    if (authentic || report.damages() != 0)
        return;
    images.openParents();
    for (const ImageDir* dir = &images; dir != nullptr; dir = dir->parent())
        verifyFiles(*dir, report, checkStop);
    verifyPages(images, report, checkStop);
}

}  // namespace

int verify(Run& run, std::string& answer) {
    ImageDir images = takeImages(run);
    DamageReport report;
    verifyAll(run, images, report);
    answer = run.options.json ? report.json() : report.text();
    return report.complete() ? 0 : 1;
}

}  // namespace criu::engine
