"""Libraries that ask whether a module was compiled: what the guide says of them, run.

Each program is run with the library itself where it is installed (`make test-libraries` installs
all of them). What a library asks is asked without it too, by classes that ask the same.
"""

from __future__ import annotations

import importlib.util
import textwrap

import pytest
import torch
import torch._dynamo

import suture
from tests.harness import Graphs
from tests.switches.running import run

NET = """
import tempfile, torch, suture
suture.install()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x

rows = torch.utils.data.TensorDataset(torch.randn(8, 4))
names = list(Net().state_dict())
"""


def program(library, text, before=NET):
    """Run a program that needs a library; what it prints."""
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"SKIPPED LOUDLY: {library} is missing (make test-libraries has it)")
    return run(before + textwrap.dedent(text), ("PYTHONWARNINGS", "ignore")).stdout.split()


ACCELERATE = """
from accelerate import Accelerator
from accelerate.utils import TorchDynamoPlugin, is_compiled_module

def trained(accelerator, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.DataLoader(rows, batch_size=2)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for (x,) in data:
        accelerator.backward(model(x).sum())
        optimizer.step()
        optimizer.zero_grad()
    assert list(model.state_dict()) == names == list(accelerator.get_state_dict(model))
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        kept = {name: value.clone() for name, value in model.state_dict().items()}
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()
        accelerator.load_state(folder)
        for name, value in model.state_dict().items():
            assert torch.equal(kept[name], value)
        accelerator.save_model(model, folder, safe_serialization=False)
        assert list(torch.load(folder + "/pytorch_model.bin")) == names
    for keep in (True, False):
        found = accelerator.unwrap_model(model, keep_torch_compile=keep)
        assert found is model and found.__class__ is Net and not is_compiled_module(found)
    print(suture.stats().graphs, len(suture.stats().breaks))
"""

ACCELERATED = {
    "what the program compiled": """
        trained(Accelerator(cpu=True), torch.compile(Net(), backend="aot_eager"))
    """,
    "what accelerate compiles": """
        trained(Accelerator(cpu=True, dynamo_backend="aot_eager"), Net())
    """,
    "both": """
        compiled = torch.compile(Net(), backend="eager")
        trained(Accelerator(cpu=True, dynamo_backend="aot_eager"), compiled)
    """,
    "layers of it": """
        plugin = TorchDynamoPlugin(backend="aot_eager", use_regional_compilation=True)
        trained(Accelerator(cpu=True, dynamo_plugin=plugin), Net())
    """,
}


@pytest.mark.parametrize("who", ACCELERATED)
def test_accelerate_prepares_saves_and_unwraps(who):
    graphs, breaks = program("accelerate", ACCELERATE + textwrap.dedent(ACCELERATED[who]))
    # One layer is compiled twice: what goes into the first one has no gradient.
    assert graphs == ("2" if who == "layers of it" else "1") and breaks == "0"


LIGHTNING = """
import lightning

class Stepping(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        compiling.add(torch.compiler.is_compiling())
        loss = self.net(batch[0]).pow(2).mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

compiling = set()
model = torch.compile(Stepping(), backend="aot_eager")
data = torch.utils.data.DataLoader(rows, batch_size=2)
with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
    )
    trainer.fit(model, data)
    trainer.save_checkpoint(folder + "/kept")
    kept = Stepping.load_from_checkpoint(folder + "/kept").state_dict()
assert list(kept) == ["net." + name for name in names] == list(model.state_dict())
print(*compiling, suture.stats().graphs > 0, "loss" in trainer.callback_metrics)
"""


def test_the_steps_of_a_lightning_module_are_compiled():
    assert program("lightning", LIGHTNING) == ["True", "True", "True"]


def test_fabric_of_lightning_trains_what_was_compiled():
    told = program(
        "lightning",
        """
        import lightning
        fabric = lightning.Fabric(accelerator="cpu", devices=1)
        model = torch.compile(Net(), backend="aot_eager")
        model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1))
        fabric.backward(model(rows[:2][0]).sum())
        optimizer.step()
        assert list(model.state_dict()) == names
        print(suture.stats().graphs)
        """,
    )
    assert told == ["1"]


LLAMA = """
import tempfile, torch, suture
suture.install()
from transformers import LlamaConfig, LlamaForCausalLM

def tiny():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
    ))

tokens = torch.arange(5)[None]
"""


def test_transformers_generates_and_saves():
    told = program(
        "transformers",
        """
        model = tiny()
        wanted = model.generate(tokens, max_new_tokens=4, do_sample=False)
        compiled = torch.compile(model, backend="eager")
        assert torch.equal(compiled.generate(tokens, max_new_tokens=4, do_sample=False), wanted)
        with tempfile.TemporaryDirectory() as folder:
            compiled.save_pretrained(folder)
            again = LlamaForCausalLM.from_pretrained(folder)
        for one, other in zip(model.parameters(), again.parameters()):
            assert torch.equal(one, other)
        print(suture.stats().graphs > 0)
        """,
        LLAMA,
    )
    assert told == ["True"]


def test_peft_swaps_adapters_of_the_module_that_was_compiled():
    told = program(
        "peft",
        """
        from peft import LoraConfig, PeftModel, get_peft_model
        from peft.utils.hotswap import hotswap_adapter

        with tempfile.TemporaryDirectory() as folder:
            for name in ("one", "two"):
                lora = LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False)
                get_peft_model(tiny(), lora).save_pretrained(f"{folder}/{name}")
            model = PeftModel.from_pretrained(tiny(), folder + "/one")
            compiled = torch.compile(model, backend="eager")
            compiled(tokens)
            hotswap_adapter(compiled._orig_mod, folder + "/two", adapter_name="default")
            wanted = PeftModel.from_pretrained(tiny(), folder + "/two")(tokens).logits
        torch.testing.assert_close(compiled(tokens).logits, wanted)
        print(suture.stats().graphs)
        """,
        LLAMA,
    )
    assert told == ["1"]


def test_diffusers_runs_and_saves_a_pipeline():
    told = program(
        "diffusers",
        """
        import tempfile, torch, suture
        suture.install()
        from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

        unet = UNet2DModel(
            sample_size=8, in_channels=1, out_channels=1, layers_per_block=1,
            block_out_channels=(8, 8), norm_num_groups=4,
            down_block_types=("DownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "UpBlock2D"),
        )
        pipeline = DDPMPipeline(unet, DDPMScheduler(num_train_timesteps=10))
        pipeline.unet = torch.compile(pipeline.unet, backend="eager")
        pipeline.set_progress_bar_config(disable=True)
        pipeline(num_inference_steps=2, output_type="np")
        with tempfile.TemporaryDirectory() as folder:
            pipeline.save_pretrained(folder)
            again = DDPMPipeline.from_pretrained(folder)
        assert list(again.unet.state_dict()) == list(unet.state_dict())
        print(type(again.unet) is UNet2DModel, suture.stats().graphs > 0)
        """,
        "",
    )
    assert told == ["True", "True"]


# ---- the same questions, without the libraries


class LightningModule(torch.nn.Module):
    """Has the steps that Lightning's class of this name has."""

    def training_step(self, *args):
        raise NotImplementedError

    validation_step = test_step = predict_step = training_step


class Steps(LightningModule):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def training_step(self, batch, index):
        return self.fc(batch).sum() + index + torch.compiler.is_compiling()

    def helper(self):
        return torch.compiler.is_compiling()


def test_steps_that_a_trainer_calls_are_compiled_and_no_other_method():
    graphs, model = Graphs(), Steps()
    made = torch.compile(model, backend=graphs)
    x = torch.zeros(2)
    torch.testing.assert_close(made.training_step(x, 0), model.training_step(x, 0) + 1)
    assert len(graphs) == 1 and not made.helper()
    assert made.training_step.__wrapped__.__code__ is Steps.training_step.__code__
    assert made.test_step.__func__ is LightningModule.test_step
    made.training_step = lambda batch, index: "set"
    assert made.training_step(x, 0) == "set" == model.training_step(x, 0)


def test_steps_of_a_module_that_is_none_of_lightnings_are_plain():
    class Other(torch.nn.Module):
        def training_step(self):
            return torch.compiler.is_compiling()

    assert not torch.compile(Other(), backend="eager").training_step()


def unwrapped(model):
    """What libraries do with a module that may be compiled."""
    if isinstance(model, torch._dynamo.eval_frame.OptimizedModule):
        return model._orig_mod, "_orig_mod."
    return model, ""


def test_a_library_that_unwraps_finds_the_names_of_the_module():
    made = torch.compile(Steps(), backend="eager")
    found, prefix = unwrapped(made)
    assert found is made and prefix == "" and getattr(made, "_orig_mod", made) is not made
    assert [prefix + name for name, _ in found.named_parameters()] == list(made.state_dict())
    assert suture.compile(made, backend="eager")._orig_mod is made._orig_mod
