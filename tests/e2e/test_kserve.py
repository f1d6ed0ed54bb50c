"""KServe's own Python clients, unmodified."""
import asyncio

import numpy as np
from kserve import InferInput, InferRequest, InferenceGRPCClient, InferenceRESTClient, RESTConfig


def request(image):
    given = InferInput("image", list(image.shape), "FP32")
    given.set_data_from_numpy(image, binary_data=False)
    return InferRequest("digits_cnn", [given])


def logits(response):
    return response.outputs[0].as_numpy().reshape(-1, 10)


def test_rest(serving, digits):
    async def talk():
        client = InferenceRESTClient(RESTConfig(protocol="v2"))
        base = f"http://{serving.http}"
        assert await client.is_server_live(base)
        assert await client.is_server_ready(base)
        assert await client.is_model_ready(base, "digits_cnn")
        response = await client.infer(base, request(digits["image"][:3]), model_name="digits_cnn")
        return logits(response)

    assert np.allclose(asyncio.run(talk()), digits["logits_v1"][:3], atol=1e-4)


def test_grpc(serving, digits):
    async def talk():
        client = InferenceGRPCClient(serving.grpc)
        assert await client.is_server_live()
        assert await client.is_server_ready()
        assert await client.is_model_ready("digits_cnn")
        response = await client.infer(request(digits["image"][:3]))
        return logits(response)

    assert np.allclose(asyncio.run(talk()), digits["logits_v1"][:3], atol=1e-4)
