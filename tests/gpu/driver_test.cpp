// The driver's library: absent, incomplete, without a device, failing, and what it says of a
// device.
#include "helpers.h"

namespace nautilus::gpu {
namespace {

TEST_F(FakeCuda, AbsentLibraryIsNamed) {
  set("NAUTILUS_LIBCUDA", "/nonexistent/libcuda.so.1");
  const auto d = Driver::open();
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("/nonexistent/libcuda.so.1 cannot be loaded"), std::string::npos);
  EXPECT_NE(d.error().suggest.find("NVIDIA driver"), std::string::npos);
}

TEST_F(FakeCuda, LibraryWithoutTheEntryPointsIsRefused) {
  set("NAUTILUS_LIBCUDA", "libm.so.6");
  const auto d = Driver::open();
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("libm.so.6 lacks cuInit, "), std::string::npos) << d.error().why;
}

TEST_F(FakeCuda, NoDeviceIsNamed) {
  set("FAKE_CUDA_DEVICES", "0");
  const auto d = Driver::open();
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("no GPU is visible"), std::string::npos) << d.error().why;
}

TEST_F(FakeCuda, NoDeviceByTheDriversOwnWord) {
  set("FAKE_CUDA_FAIL", "cuInit=100");
  const auto d = Driver::open();
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("no GPU is visible"), std::string::npos) << d.error().why;
}

TEST_F(FakeCuda, DriverThatDoesNotStartSaysWhy) {
  set("FAKE_CUDA_FAIL", "cuInit=803");
  const auto d = Driver::open();
  ASSERT_FALSE(d);
  EXPECT_NE(d.error().why.find("CUDA error 803"), std::string::npos) << d.error().why;
}

TEST_F(FakeCuda, DeviceIsDescribed) {
  set("FAKE_CUDA_CAPABILITY", "86");
  const auto d = Driver::open();
  ASSERT_TRUE(d) << d.error().text();
  EXPECT_EQ((*d)->version(), 13000);
  const auto info = device_info(**d);
  ASSERT_TRUE(info) << info.error().text();
  EXPECT_EQ(info->name, "Fake H200");
  EXPECT_EQ(info->multiprocessors, 132);
  EXPECT_EQ(info->shared_per_block, 227 << 10);
  EXPECT_EQ(target_of(*info), "sm_86");
  EXPECT_FALSE(device_info(**Driver::open(NAUTILUS_FAKE_CUDA), 0)->l2_bytes == 0);
}

TEST_F(FakeCuda, ErrorsInWords) {
  const auto d = Driver::open();
  ASSERT_TRUE(d);
  EXPECT_EQ((*d)->error_text(700),
            "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  EXPECT_EQ((*d)->error_text(12345), "CUDA error 12345");
}

}  // namespace
}  // namespace nautilus::gpu
