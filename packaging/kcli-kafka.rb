# A formula for a tap of your own: brew install --build-from-source ./kcli-kafka.rb
class KcliKafka < Formula
  include Language::Python::Virtualenv

  desc "Command-line toolkit for the bytes of Apache Kafka"
  homepage "https://github.com/kcli-kafka/kcli"
  url "https://github.com/kcli-kafka/kcli/archive/refs/tags/v0.2.0.tar.gz"
  license "Apache-2.0"
  head "https://github.com/kcli-kafka/kcli.git", branch: "main"

  depends_on "python@3.13"

  def install
    venv = virtualenv_create(libexec, "python3.13")
    system libexec/"bin/python", "-m", "pip", "install", "-c", "constraints.txt", ".[report,sql,tls]"
    bin.install_symlink libexec/"bin/kcli"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable(bin/"kcli", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kcli --version")
  end
end
